/* SPDX-License-Identifier: GPL-2.0-only */
/* Configuration variables of a script (reference: config block). */
#pragma once

#include "base/base.h"

enum missing_probes { MISSING_ERROR, MISSING_WARN, MISSING_IGNORE };

typedef u64 config_U;
typedef bool config_B;
typedef const char *config_S;
typedef enum missing_probes config_E;

struct config {
#define CONFIG_ROW(name, kind, def, doc) config_##kind name;
#include "image/config.def"
#undef CONFIG_ROW
};

extern const struct config config_defaults;

struct config_info {
	const char *name;
	char kind; /* 'U' 'B' 'S' 'E' */
	const char *def, *doc;
};
/* The value of variable i of the table. text NULL: a number. */
struct config_value {
	const char *text;
	u64 num;
	bool is_bool;
};
struct config_value config_get(const struct config *c, u32 i);

/* One row per variable, in table order; *cnt rows. For docs and --info. */
const struct config_info *config_table(u32 *cnt);
