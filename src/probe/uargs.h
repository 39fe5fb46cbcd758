/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments of user functions by name, and types of their programs, from debug information (sym/dwarf.h). Hooks of struct
 * provider. */
#pragma once

#include "probe/user.h"

const struct type *uargs_type(struct compile *c, const struct unit *u);
struct val uargs_member(struct lower *l, const struct member *m, u32 off);
const char *uargs_missing(struct compile *c, const struct unit *u, const char *name);
u64 uargs_share_key(struct compile *c, const struct site *s, const struct body_uses *uses);
struct type_source *uargs_types(struct compile *c, const struct unit *u);
void uargs_list_params(const struct target *t, const char *site_name, struct sbuf *out);
