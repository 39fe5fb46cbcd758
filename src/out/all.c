/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of sinks: an output format is known when it is named here. */
#include "out/sink.h"

extern const struct sink sink_text, sink_json;

static const struct sink *const sinks[] = {
	&sink_text,
	&sink_json,
};

const struct sink *sink_at(u32 i)
{
	return i < ARRAY_CNT(sinks) ? sinks[i] : NULL;
}

const struct sink *sink_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(sinks); i++)
		if (str_eq(sinks[i]->name, name))
			return sinks[i];
	return NULL;
}
