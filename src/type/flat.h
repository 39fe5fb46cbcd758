/* SPDX-License-Identifier: GPL-2.0-only */
/* The members of a struct as one list: those of structs without a name are members of the outer one, as in C. */
#pragma once

#include "base/arena.h"
#include "type/layout.h"

struct flat_member {
	const char *name;
	u32 type;
	u32 off;     /* bytes, from the begin of the outermost struct */
	u32 bit_off; /* of a bit-field: from `off` */
	u32 bit_sz;  /* 0: not a bit-field */
	u32 sz;
};

struct flat {
	vec(struct flat_member) at;
};

/* Replaces what f has. id is a struct or union. */
void flat_get(struct flat *f, const struct btfraw *b, u32 id);
void flat_release(struct flat *f);
