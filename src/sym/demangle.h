/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of C++ and Rust as their programmers wrote them. */
#pragma once

#include "base/base.h"

/* malloc'ed; NULL: it is no such name, or Sonde was built without libiberty. */
char *sym_demangle(const char *name);
/* The same without the type of the result, and, unless has_params, without those of the parameters. */
char *sym_demangle_short(const char *name, bool has_params);
