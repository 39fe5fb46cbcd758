/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of probe types, in the order that -l shows them: by name. */
#include <strings.h>

#include "base/diag.h"
#include "base/glob.h"
#include "probe/probe.h"

#define PROVIDERS(X)                                                                                                             \
	X(asyncwatchpoint)                                                                                                       \
	X(begin)                                                                                                                 \
	X(bench)                                                                                                                 \
	X(end)                                                                                                                   \
	X(fentry)                                                                                                                \
	X(fexit)                                                                                                                 \
	X(hardware)                                                                                                              \
	X(interval)                                                                                                              \
	X(iter)                                                                                                                  \
	X(kprobe)                                                                                                                \
	X(kretprobe)                                                                                                             \
	X(profile)                                                                                                               \
	X(rawtracepoint)                                                                                                         \
	X(self)                                                                                                                  \
	X(software)                                                                                                              \
	X(test)                                                                                                                  \
	X(tracepoint)                                                                                                            \
	X(uprobe)                                                                                                                \
	X(uretprobe)                                                                                                             \
	X(usdt)                                                                                                                  \
	X(watchpoint)

#define DECLARE(name) extern const struct provider provider_##name;
PROVIDERS(DECLARE)

#define ADDRESS(name) &provider_##name,
static const struct provider *const providers[] = { PROVIDERS(ADDRESS) };

const struct provider *provider_find(const char *word)
{
	for (u32 i = 0; i < ARRAY_CNT(providers); i++) {
		const struct provider *p = providers[i];

		/* `u` and `U` are different probe types, so an alias is taken as it is written. */
		if (!strcasecmp(p->name, word) || (p->alias && str_eq(p->alias, word)) ||
		    (p->old_name && !strcasecmp(p->old_name, word)))
			return p;
	}
	return NULL;
}

const struct provider *provider_at(u32 i)
{
	return i < ARRAY_CNT(providers) ? providers[i] : NULL;
}

int probe_attach(struct attach_ctx *ctx, const struct image_prog *p, int prog_fd)
{
	return p->provider->attach(ctx, p, prog_fd);
}

const char *provider_name(const struct provider *p)
{
	return p->name;
}

u32 provider_needs(const struct provider *p)
{
	return p->needs;
}

const struct provider *provider_named(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(providers); i++)
		if (str_eq(providers[i]->name, name))
			return providers[i];
	return NULL;
}

static bool is_plain(const struct provider *p, const struct attach_point *ap, u32 filter_pid)
{
	if (!glob_match(ap->parts[0], p->name))
		return false;
	if (!(p->flags & PROV_LIST_EXPLICIT))
		return true;
	return p->flags & PROV_USER_FILE && (filter_pid || (ap->part_cnt > 1 && strchr(ap->parts[1], '/')));
}

bool provider_is_meant(const struct provider *p, const struct attach_point *ap, u32 filter_pid)
{
	if (!glob_match(ap->parts[0], p->name))
		return false;
	if (is_plain(p, ap, filter_pid))
		return true;
	for (u32 i = 0; i < ARRAY_CNT(providers); i++)
		if (is_plain(providers[i], ap, filter_pid))
			return false;
	return true;
}

void provider_hint(struct diag *d, const char *word)
{
	const char *names[ARRAY_CNT(providers)], *near;
	struct sbuf all = {};

	for (u32 i = 0; i < ARRAY_CNT(providers); i++) {
		names[i] = providers[i]->name;
		sbuf_printf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	near = nearest_name(word, names, ARRAY_CNT(names));
	for (u32 i = 0; !near && strlen(word) > 1 && i < ARRAY_CNT(names); i++)
		if (!strncasecmp(names[i], word, strlen(word)))
			near = names[i];
	if (near)
		diag_hint(d, "did you mean %s?", near);
	else
		diag_hint(d, "the probe types are %s", sbuf_str(&all));
	sbuf_release(&all);
}
