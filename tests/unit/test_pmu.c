/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting units: events, terms and formats, from a made-up sysfs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "kern/pmu.h"

#define CHECK_TEXT(got, want) CHECK(str_eq(got, want), "%s", got)

static char root[] = "/tmp/sonde-pmu-XXXXXX";

static void put(const char *path, const char *text)
{
	char *full = xasprintf("%s/%s", root, path);
	FILE *f;

	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	fprintf(f, "%s\n", text);
	fclose(f);
	free(full);
}

static void check_event(const char *pmu, const char *terms, int err, u64 config, u64 config1, const char *want)
{
	struct sbuf why = {};
	struct pmu_event ev;

	CHECK(pmu_resolve(root, pmu, terms, &ev, &why) == err);
	if (!err) {
		CHECK(ev.type == 4);
		CHECK(ev.config[0] == config);
		CHECK(ev.config[1] == config1);
		CHECK(ev.config[2] == 0);
	}
	CHECK_TEXT(sbuf_str(&why), want);
	sbuf_release(&why);
}

static void add_name(void *arg, const char *pmu, const char *name)
{
	sbuf_printf(arg, "%s/%s ", pmu, name);
}

int main(void)
{
	struct sbuf all = {};
	char *cmd;

	if (!mkdtemp(root))
		return 1;
	CHECK(!pmu_has_core(root));
	put("cpu/type", "4");
	put("cpu/events/cycles", "event=0x3c");
	put("cpu/events/loads", "event=0xcd,umask=0x1,ldlat=3");
	put("cpu/events/loads.scale", "1");
	put("cpu/events/odd", "event=0x100");
	put("cpu/format/event", "config:0-7,32-35");
	put("cpu/format/umask", "config:8-15");
	put("cpu/format/edge", "config:18");
	put("cpu/format/ldlat", "config1:0-15");
	put("cpu/format/broken", "nonsense");
	put("imc/type", "9");
	put("imc/cpumask", "0");
	put("imc/events/clockticks", "event=0xff");
	put("msr/type", "8");
	put("msr/events/tsc", "event=0x00");

	check_event("cpu", "cycles", 0, 0x3c, 0, "");
	check_event("cpu", "loads", 0, 0x1cd, 3, "");
	check_event("cpu", "event=0xa3,umask=5", 0, 0x5a3, 0, "");
	check_event("cpu", "event=0xfa3", 0, 0xf000000a3, 0, "");
	check_event("cpu", "odd", 0, 0x100000000, 0, "");
	check_event("cpu", "edge", 0, 1 << 18, 0, "");
	check_event("cpu", "event=1,edge", 0, 1 << 18 | 1, 0, "");
	check_event("cpu", "config=0x11,config1=2", 0, 0x11, 2, "");
	check_event("cpu", "event=0x1000", -EINVAL, 0, 0, "4096 does not fit event of cpu (config:0-7,32-35)");
	check_event("cpu", "edge=2", -EINVAL, 0, 0, "2 does not fit edge of cpu (config:18)");
	check_event("cpu", "broken", -EINVAL, 0, 0, "1 does not fit broken of cpu (nonsense)");
	check_event("cpu", "umask=", -EINVAL, 0, 0, "'' is not a valid value for umask");
	check_event("cpu", "umask=1x", -EINVAL, 0, 0, "'1x' is not a valid value for umask");
	check_event("cpu", "nope", -ENOENT, 0, 0, "cpu has no event or term 'nope'");
	cmd = xasprintf("there is no PMU 'gpu' in %s", root);
	check_event("gpu", "x", -ENODEV, 0, 0, cmd);
	free(cmd);
	cmd = xasprintf("there is no PMU '..' in %s", root);
	check_event("..", "x", -ENODEV, 0, 0, cmd);
	free(cmd);

	CHECK(!pmu_each(root, add_name, &all));
	CHECK_TEXT(sbuf_str(&all), "cpu/cycles cpu/loads cpu/odd msr/tsc ");
	CHECK(pmu_has_core(root));
	CHECK(pmu_each("/nonexistent", add_name, &all) == -ENOENT);
	sbuf_release(&all);
	cmd = xasprintf("rm -r %s", root);
	CHECK(!system(cmd));
	free(cmd);
	return check_end();
}
