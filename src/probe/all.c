/* The list of probe types, in the order that -l shows them: by name. */
#include <strings.h>

#include "probe/provider.h"

extern const struct provider provider_begin, provider_end, provider_hardware, provider_interval, provider_kprobe,
	provider_kretprobe, provider_profile, provider_software, provider_tracepoint, provider_uprobe, provider_uretprobe, provider_usdt;

static const struct provider *const providers[] = {
	&provider_begin,
	&provider_end,
	&provider_hardware,
	&provider_interval,
	&provider_kprobe,
	&provider_kretprobe,
	&provider_profile,
	&provider_software,
	&provider_tracepoint,
	&provider_uprobe,
	&provider_uretprobe,
	&provider_usdt,
};

const struct provider *provider_find(const char *word)
{
	for (u32 i = 0; i < ARRAY_CNT(providers); i++) {
		const struct provider *p = providers[i];

		/* `u` and `U` are different probe types, so an alias is taken as it is written. */
		if (!strcasecmp(p->name, word) || (p->alias && str_eq(p->alias, word)))
			return p;
	}
	return NULL;
}

const struct provider *provider_at(u32 i)
{
	return i < ARRAY_CNT(providers) ? providers[i] : NULL;
}
