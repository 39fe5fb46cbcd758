/* The list of probe types, in the order that -l shows them: by name. */
#include <strings.h>

#include "probe/provider.h"

#define PROVIDERS(X) \
	X(begin) \
	X(bench) \
	X(end) \
	X(fentry) \
	X(fexit) \
	X(hardware) \
	X(interval) \
	X(kprobe) \
	X(kretprobe) \
	X(profile) \
	X(rawtracepoint) \
	X(self) \
	X(software) \
	X(test) \
	X(tracepoint) \
	X(uprobe) \
	X(uretprobe) \
	X(usdt) \
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
		if (!strcasecmp(p->name, word) || (p->alias && str_eq(p->alias, word)) || (p->old_name && !strcasecmp(p->old_name, word)))
			return p;
	}
	return NULL;
}

const struct provider *provider_at(u32 i)
{
	return i < ARRAY_CNT(providers) ? providers[i] : NULL;
}
