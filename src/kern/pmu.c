/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"

/* A file of the unit, without its newline; NULL if there is none. malloc'ed. */
static char *read_text(const char *root, const char *pmu, const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s/%s%s", root, pmu, dir, name), *text = NULL;

	if (io_read_file(path, &text, NULL))
		text = NULL;
	free(path);
	if (text)
		text[strcspn(text, "\n")] = 0;
	return text;
}

/* Puts the value's bits where "config1:0-7,32" says, lowest first. False: the format is not understood, or the value does not
 * fit. */
static bool put_bits(const char *format, u64 value, struct pmu_event *ev)
{
	const char *s = format;
	u32 word = 0, lo, hi;
	char *end;

	if (!str_starts(s, "config"))
		return false;
	s += strlen("config");
	if (isdigit((u8)*s))
		word = (u32)(*s++ - '0');
	if (*s++ != ':' || word >= ARRAY_CNT(ev->config))
		return false;
	for (;;) {
		lo = hi = (u32)strtoul(s, &end, 10);
		if (end == s)
			return false;
		s = end;
		if (*s == '-') {
			hi = (u32)strtoul(s + 1, &end, 10);
			s = end;
		}
		if (hi > 63 || lo > hi)
			return false;
		for (u32 bit = lo; bit <= hi; bit++, value >>= 1)
			ev->config[word] |= (value & 1) << bit;
		if (!*s)
			return !value;
		if (*s++ != ',')
			return false;
	}
}

/* One term: "name=value", or "name" for 1. */
static int put_term(const char *root, const char *pmu, char *term, struct pmu_event *ev, struct sbuf *why)
{
	char *eq = strchr(term, '='), *end = "", *format;
	u64 value = 1;
	int err = 0;

	if (eq) {
		*eq = 0;
		errno = 0;
		value = strtoull(eq + 1, &end, 0);
		if (errno || *end || end == eq + 1) {
			sbuf_printf(why, "'%s' is not a valid value for %s", eq + 1, term);
			return -EINVAL;
		}
	}
	/* config, config1 and config2 may be given directly, too. */
	if (str_eq(term, "config") || str_eq(term, "config1") || str_eq(term, "config2")) {
		ev->config[term[6] ? term[6] - '0' : 0] |= value;
		return 0;
	}
	format = read_text(root, pmu, "format/", term);
	if (!format) {
		sbuf_printf(why, "%s has no event or term '%s'", pmu, term);
		err = -ENOENT;
	} else if (!put_bits(format, value, ev)) {
		sbuf_printf(why, "%llu does not fit %s of %s (%s)", (unsigned long long)value, term, pmu, format);
		err = -EINVAL;
	}
	free(format);
	return err;
}

int pmu_resolve(const char *root, const char *pmu, const char *terms, struct pmu_event *ev, struct sbuf *why)
{
	char *type, *text, *save = NULL;
	int err = 0;

	*ev = (struct pmu_event){};
	/* Names become paths. */
	if (strchr(pmu, '/') || strchr(terms, '/') || *pmu == '.' || *terms == '.' || !*pmu)
		type = NULL;
	else
		type = read_text(root, pmu, "", "type");
	if (!type) {
		sbuf_printf(why, "there is no PMU '%s' in %s", pmu, root);
		return -ENODEV;
	}
	ev->type = (u32)strtoul(type, NULL, 10);
	free(type);
	text = strchr(terms, '=') || strchr(terms, ',') ? NULL : read_text(root, pmu, "events/", terms);
	if (!text)
		text = xstrdup(terms);
	for (char *t = strtok_r(text, ",", &save); t && !err; t = strtok_r(NULL, ",", &save))
		err = put_term(root, pmu, t, ev, why);
	free(text);
	return err;
}

static int is_name(const struct dirent *e)
{
	return !strchr(e->d_name, '.'); /* besides ., .. and NAME: NAME.scale, NAME.unit */
}

int pmu_each(const char *root, void (*fn)(void *arg, const char *pmu, const char *name), void *arg)
{
	struct dirent **pmus, **names;
	int pmu_cnt = scandir(root, &pmus, is_name, alphasort);

	if (pmu_cnt < 0)
		return -errno;
	for (int i = 0; i < pmu_cnt; i++) {
		char *mask = xasprintf("%s/%s/cpumask", root, pmus[i]->d_name),
		     *dir = xasprintf("%s/%s/events", root, pmus[i]->d_name);
		int cnt = access(mask, F_OK) ? scandir(dir, &names, is_name, alphasort) : -1;

		for (int k = 0; k < cnt; k++) {
			fn(arg, pmus[i]->d_name, names[k]->d_name);
			free(names[k]);
		}
		if (cnt >= 0)
			free(names);
		free(mask);
		free(dir);
		free(pmus[i]);
	}
	free(pmus);
	return 0;
}

/* cpu; cpu_core and cpu_atom; armv8_cortex_a72 */
bool pmu_has_core(const char *root)
{
	DIR *dir = opendir(root);
	bool found = false;
	struct dirent *e;

	while (dir && !found && (e = readdir(dir)))
		found = str_eq(e->d_name, "cpu") || str_starts(e->d_name, "cpu_") || str_starts(e->d_name, "armv");
	if (dir)
		closedir(dir);
	return found;
}
