struct more { char text[5]; };
