/* SPDX-License-Identifier: GPL-2.0-only */
/* --info: what a bug report should contain. */
#include <stdio.h>
#include <sys/utsname.h>

#include "cli/cli.h"
#include "kern/feature.h"
#include "kern/machine.h"
#include "lang/provider.h"

int info_print(void)
{
	const struct provider *p;
	struct utsname u;
	u32 online = 0;
	u32 *cpus = machine_online(&online);

	free(cpus);
	uname(&u);
	printf("System\n  OS: %s %s %s\n  Arch: %s\n  CPUs: %u online, %u possible\n\n", u.sysname, u.release, u.version,
	       u.machine, online, machine_cpus());
	printf("Build\n  version: v%s\n\nKernel features\n", SONDE_VERSION);
	for (u32 f = 0; f < KF_CNT; f++) {
		const char *why = kern_feature_unknown(f);

		printf("  %-16s %-7s  %s", kern_feature_name(f),
		       kern_has(f) ? "yes" :
			       why ? "unknown" :
				     "no",
		       kern_feature_doc(f));
		if (why)
			printf(" (%s)", why);
		printf("\n");
	}
	printf("\nProbe types\n ");
	for (u32 i = 0; (p = provider_at(i)); i++)
		printf(" %s", p->name);
	printf("\n");
	return 0;
}
