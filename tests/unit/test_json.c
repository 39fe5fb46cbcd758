/* SPDX-License-Identifier: GPL-2.0-only */
/* The JSON writer: separators in each style, keys of any bytes, a buffer that is emptied between values. test_out.c has strings
 * of any bytes. */
#include "base/json.h"
#include "check.h"

#define CHECK_JSON(got, want) CHECK(str_eq(got, want), "%s", got)

static void put_some(struct json *j)
{
	json_open_object(j, NULL);
	json_open_array(j, "empty");
	json_close_array(j);
	json_open_object(j, "none");
	json_close_object(j);
	json_put_text(j, "text", "a\"b\\c\n\x01\xff\xc3\xa4");
	json_open_array(j, "list");
	json_put_int(j, NULL, -1, true);
	json_put_int(j, NULL, -1, false); /* no double has it: a string */
	json_open_object(j, NULL);
	json_put_bool(j, "t", true);
	json_put_bool(j, "f", false);
	json_close_object(j);
	json_open_array(j, NULL);
	sbuf_puts(json_value(j, NULL), "null");
	sbuf_puts(json_value(j, NULL), "1.5");
	json_close_array(j);
	json_close_array(j);
	json_put_key(j, "k\t", 2);
	json_put_int(j, NULL, 1ull << 63, false);
	json_put_key(j, "o", 1);
	json_open_object(j, NULL);
	json_put_bytes(j, "bytes", "a\0b", 3);
	json_close_object(j);
	json_put_int(j, "last", 0, false);
	json_close_object(j);
	json_end_line(j);
}

static void test_styles(void)
{
	static const char *const want[] = {
		[JSON_SPACED] = "{\"empty\": [], \"none\": {}, \"text\": \"a\\\"b\\\\c\\n\\u0001\\\\xff\xc3\xa4\", "
				"\"list\": [-1, \"18446744073709551615\", {\"t\": true, \"f\": false}, [null, 1.5]], "
				"\"k\\t\": 9223372036854775808, \"o\": {\"bytes\": \"a\\u0000b\"}, \"last\": 0}\n",
		[JSON_TIGHT_ARRAYS] = "{\"empty\": [], \"none\": {}, \"text\": \"a\\\"b\\\\c\\n\\u0001\\\\xff\xc3\xa4\", "
				      "\"list\": [-1,\"18446744073709551615\",{\"t\": true, \"f\": false},[null,1.5]], "
				      "\"k\\t\": 9223372036854775808, \"o\": {\"bytes\": \"a\\u0000b\"}, \"last\": 0}\n",
		[JSON_TIGHT] = "{\"empty\":[],\"none\":{},\"text\":\"a\\\"b\\\\c\\n\\u0001\\\\xff\xc3\xa4\","
			       "\"list\":[-1,\"18446744073709551615\",{\"t\":true,\"f\":false},[null,1.5]],"
			       "\"k\\t\":9223372036854775808,\"o\":{\"bytes\":\"a\\u0000b\"},\"last\":0}\n",
	};
	struct sbuf b = {};

	for (u32 i = 0; i < ARRAY_CNT(want); i++) {
		struct json j = json_on(&b, i);

		sbuf_reset(&b);
		put_some(&j);
		CHECK_JSON(b.s, want[i]);
		sbuf_reset(&b); /* the next line begins anew */
		put_some(&j);
		CHECK_JSON(b.s, want[i]);
	}
	sbuf_release(&b);
}

static void test_emptied(void)
{
	struct sbuf b = {};
	struct json j = json_on(&b, JSON_SPACED);

	json_open_array(&j, NULL);
	json_put_int(&j, NULL, 1, false);
	CHECK_JSON(b.s, "[1");
	sbuf_reset(&b);
	json_put_int(&j, NULL, 2, false);
	json_close_array(&j);
	CHECK_JSON(b.s, ", 2]");
	sbuf_release(&b);
}

int main(void)
{
	test_styles();
	test_emptied();
	return check_end();
}
