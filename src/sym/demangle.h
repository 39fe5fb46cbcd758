/* Names of C++ and Rust as their programmers wrote them. */
#pragma once

/* malloc'ed; NULL: it is no such name, or Sonde was built without libiberty. */
char *sym_demangle(const char *name);
