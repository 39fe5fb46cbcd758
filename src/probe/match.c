/* SPDX-License-Identifier: GPL-2.0-only */
/* From attach points as written to sites and units: each provider finds the matches of its attach points on the target, and the
 * sites of a probe that one program can serve are grouped. */
#include <errno.h>
#include <regex.h>

#include "base/glob.h"
#include "lang/fn.h"
#include "probe/probe.h"

/* ---- what a body uses ---- */

static void look_at(struct expr *e, void *arg)
{
	struct body_uses *uses = arg;
	const struct fn *fn;
	u32 suffix;

	if (e->kind != E_CALL)
		return;
	fn = fn_find(e->call.name, &suffix);
	if (!fn)
		return;
	uses->args |= !!(fn->flags & FN_ARGS);
	uses->task |= !!(fn->flags & FN_TASK);
	if ((fn->flags & FN_SUFFIX) && suffix < BODY_ARGN_MAX)
		uses->argn |= 1ull << suffix;
}

static struct body_uses probe_uses(const struct probe *p)
{
	struct body_uses uses = {};

	if (p->pred)
		expr_walk(p->pred, look_at, &uses);
	block_walk(p->body, look_at, &uses);
	return uses;
}

/* ---- attach points → sites ---- */

/* A pattern that matched nothing. That is an error only if nothing else of its probe matches either. */
struct unmatched {
	const struct provider *provider;
	const struct attach_point *ap;
	const char *why, *hint;
};

struct gather {
	struct site_sink sink; /* must be first */
	const struct provider *provider;
	u32 ap_index;
	bool is_made;           /* probe.is_made */
	vec(struct site) sites; /* of the probe at hand */
	const regex_t *filter;  /* --probe-filter, or NULL */
	struct site left_out;   /* placeholder for sites that it leaves out */
	bool has_left_out;
	vec(struct unmatched) unmatched;
};

static struct site *add_site(struct site_sink *sink, const char *name)
{
	struct gather *g = (struct gather *)sink;
	const char *given = sink->ap->given_name;

	sink->found++;
	if (g->filter && !g->is_made && !(g->provider->flags & PROV_SELF) &&
	    regexec(g->filter, given ? given : name, 0, NULL, 0)) {
		g->has_left_out = true;
		return &g->left_out;
	}
	avec_push(sink->arena, &g->sites,
		  (struct site){ .provider = g->provider,
				 .name = given ? given : name,
				 .ap_index = g->ap_index,
				 .is_more = g->is_made,
				 .span = sink->ap->span });
	return &g->sites.at[g->sites.cnt - 1];
}

static void unknown_provider(struct compile *c, const struct attach_point *ap)
{
	diag_error(c->diag, ap->span, E_UNKNOWN_PROVIDER, "Invalid probe type: %s", ap->parts[0]);
	provider_hint(c->diag, ap->parts[0]);
}

/* Nothing matched: reports that according to missing_probes. */
static void no_match(struct compile *c, const struct unmatched *u)
{
	const char *rest = probe_rest(c->arena, u->ap), *kind = u->provider ? u->provider->name : u->ap->parts[0];
	const char *shown = u->provider ? arena_printf(c->arena, "%s %s", kind, rest) : u->ap->text;
	const char *reason = u->why ? arena_printf(c->arena, " %s.", u->why) : "";

	if (c->config.missing_probes != MISSING_ERROR)
		c->missing = arena_printf(c->arena, "%s%s%s:%s", c->missing ? c->missing : "", c->missing ? ", " : "", kind,
					  rest);
	switch (c->config.missing_probes) {
	case MISSING_ERROR:
		diag_error(c->diag, u->ap->span, E_NO_MATCH, "No matches for %s.%s", shown, reason);
		if (u->hint)
			diag_hint(c->diag, "%s", u->hint);
		diag_hint(c->diag, "If this is expected, set the 'missing_probes' config variable to 'warn'.");
		break;
	case MISSING_WARN:
		diag_warn(c->diag, u->ap->span, W_MISSING_PROBE, "No matches for %s.%s Skipping.", shown, reason);
		if (u->hint)
			diag_hint(c->diag, "%s", u->hint);
		break;
	case MISSING_IGNORE:
		break;
	}
}

/* --check on a system where the existence of the probe cannot be checked (no privileges, no such probes in this kernel): it is
 * taken as written. */
static bool assume(struct compile *c, struct gather *g, const struct attach_point *ap)
{
	const char *rest = probe_rest(c->arena, ap);
	struct site *s;

	if (!c->target->is_check || ap->part_cnt < 2)
		return false;
	s = g->sink.add(&g->sink, arena_printf(c->arena, "%s:%s", g->provider->name, rest));
	if (!s)
		return false;
	s->func = ap->parts[ap->part_cnt - 1];
	s->target = ap->part_cnt > 2 ? ap->parts[1] : NULL;
	s->is_assumed = true;
	diag_warn(c->diag, ap->span, W_MISSING_PROBE, "cannot check whether %s %s exists on this machine: it is taken as written",
		  g->provider->name, rest);
	return true;
}

static bool is_pattern(const struct attach_point *ap)
{
	for (u32 i = 1; i < ap->part_cnt; i++)
		if (has_wildcard(ap->parts[i]))
			return true;
	return false;
}

/* Tests and benchmarks exist only in their mode. In it, only begin and end exist besides, which may prepare for them. */
static bool is_of_mode(const struct compile *c, const struct provider *p)
{
	bool is_frame = p->flags & PROV_SELF && !(p->flags & (PROV_TEST | PROV_BENCH | PROV_TRIGGER));

	switch (c->mode) {
	case RUN_TRACE:
		return c->target->is_check || !(p->flags & (PROV_TEST | PROV_BENCH));
	case RUN_TESTS:
		return p->flags & PROV_TEST || is_frame;
	case RUN_BENCHES:
		return p->flags & PROV_BENCH || is_frame;
	}
	return false;
}

/* *:name, k*:name: all matching probe types for which the rest is valid. */
static void expand_any(struct compile *c, struct gather *g, const struct attach_point *ap)
{
	const struct provider *p;
	u32 found = 0;

	for (u32 i = 0; (p = provider_at(i)); i++) {
		struct attach_point *one;

		if (!provider_is_meant(p, ap, c->target->filter_pid) || !is_of_mode(c, p))
			continue;
		one = arena_new(c->arena, struct attach_point);
		*one = *ap;
		one->parts = arena_alloc(c->arena, ap->part_cnt * sizeof(*one->parts));
		memcpy(one->parts, ap->parts, ap->part_cnt * sizeof(*one->parts));
		one->parts[0] = p->name;
		g->provider = p;
		g->sink.ap = one;
		g->sink.found = 0;
		/* An error for one type may be valid for another. */
		c->diag->muted = true;
		if (p->parse(c->diag, one))
			p->expand(&g->sink, one, c->diag);
		c->diag->muted = false;
		found += g->sink.found;
	}
	if (!found)
		avec_push(c->arena, &g->unmatched, (struct unmatched){ .ap = ap });
}

static void expand_attach_point(struct compile *c, struct gather *g, const struct attach_point *ap)
{
	u32 errors = c->diag->error_cnt;
	int err;

	g->provider = provider_find(ap->parts[0]);
	if (!g->provider && has_wildcard(ap->parts[0])) {
		expand_any(c, g, ap);
		return;
	}
	if (!g->provider) {
		unknown_provider(c, ap);
		return;
	}
	if (!is_of_mode(c, g->provider) || !g->provider->parse(c->diag, ap))
		return;
	g->sink.ap = ap;
	g->sink.found = 0;
	g->sink.hint = g->sink.why = NULL;
	g->sink.cannot_tell = false;
	err = g->provider->expand(&g->sink, ap, c->diag);
	if (c->diag->error_cnt > errors)
		return;
	if ((err || (!g->sink.found && g->sink.cannot_tell)) && assume(c, g, ap))
		return;
	if (err) {
		diag_error(c->diag, ap->span, E_NO_MATCH, "Cannot find %s %s: %s", g->provider->name, probe_rest(c->arena, ap),
			   g->sink.why ? g->sink.why : strerror(-err));
		if (g->sink.hint)
			diag_hint(c->diag, "%s", g->sink.hint);
		else if (probe_errno_hint(err))
			diag_hint(c->diag, "%s", probe_errno_hint(err));
	} else if (!g->sink.found) {
		struct unmatched u = { g->provider, ap, g->sink.why, g->sink.hint };

		if (is_pattern(ap))
			avec_push(c->arena, &g->unmatched, u);
		else
			no_match(c, &u);
	}
}

/* ---- sites → units ---- */

/* What bpftool and perf show: short, because the kernel keeps 15 characters. */
static const char *program_name(struct arena *a, const struct site *s)
{
	const char *kind = s->provider->alias ? s->provider->alias : s->provider->name;
	char *name;

	if (s->func)
		name = arena_printf(a, "%s_%.15s", kind, s->func);
	else if (s->provider->alias && str_starts(s->name, s->provider->name))
		name = arena_printf(a, "%s%.15s", kind, s->name + strlen(s->provider->name));
	else
		name = arena_printf(a, "%.15s", s->name);
	if (strlen(name) > 15)
		name[15] = 0;
	for (char *p = name; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') && !(*p >= '0' && *p <= '9'))
			*p = '_';
	return name;
}

struct group {
	const struct provider *provider;
	u64 key;
	vec(struct site) sites;
};

/* Programs send records under the ring's lock, which the kernel's lock functions acquire. A program at the return of such a
 * function that sends a record itself would wait for a lock that its own CPU holds. The kernel keeps a program from interrupting
 * itself there, but not another program. Kernels since 6.15 detect the deadlock and give up. */
static bool is_in_locks(const struct site *s)
{
	static const char *const patterns[] = {
		"*spin_lock*", "*spin_unlock*", "*spin_trylock*",   "*ringbuf*", "bpf_*",       "__bpf_*",      "*irq_work*",
		"lock_*",      "contention_*",  "*rcu_read_*lock*", "preempt_*", "irq_enable*", "irq_disable*",
	};
	const char *colon = strrchr(s->name, ':'), *what = s->func ? s->func : colon ? colon + 1 : s->name;

	if (s->provider->as != AS_KERNEL)
		return false;
	for (u32 i = 0; i < ARRAY_CNT(patterns); i++)
		if (glob_match(patterns[i], what))
			return true;
	return s->addr && !s->func; /* wherever that is */
}

/* The last unit of a probe has the tree itself, others have copies. */
static void make_unit(struct compile *c, const struct probe *p, const struct group *g, const struct body_uses *uses, bool is_last)
{
	struct unit *u = arena_new(c->arena, struct unit);

	u->probe = p;
	u->provider = g->provider;
	u->name = program_name(c->arena, &g->sites.at[0]);
	u->site_first = c->sites.cnt;
	u->site_cnt = g->sites.cnt;
	vec_for(s, &g->sites) {
		avec_push(c->arena, &c->sites, *s);
		c->needs_guard |= is_in_locks(s);
	}
	u->pred = is_last ? p->pred : expr_copy(c->arena, p->pred);
	u->body = is_last ? p->body : block_copy(c->arena, p->body);
	if (u->provider->plan)
		u->provider->plan(c, u, uses);
	u->is_assumed = uses->args && c->sites.at[u->site_first].is_assumed;
	if (uses->args && u->provider->args && !u->is_assumed)
		u->args = u->provider->args(c, u);
	avec_push(c->arena, &c->units, u);
}

static void make_units(struct compile *c, const struct probe *p, const struct gather *g)
{
	struct body_uses uses = probe_uses(p);
	vec(struct group) groups = {};

	vec_for(s, &g->sites) {
		u64 key = s->provider->share_key ? s->provider->share_key(c, s, &uses) : 0;
		struct group *found = NULL;

		vec_for(grp, &groups)
			if (grp->provider == s->provider && grp->key == key)
				found = grp;
		if (!found) {
			avec_push(c->arena, &groups, (struct group){ .provider = s->provider, .key = key });
			found = &groups.at[groups.cnt - 1];
		}
		avec_push(c->arena, &found->sites, *s);
	}
	vec_for(grp, &groups)
		make_unit(c, p, grp, &uses, grp == &groups.at[groups.cnt - 1]);
}

static bool within_limits(struct compile *c, const struct probe *p, const struct gather *g)
{
	u64 cnt = 0;

	if ((u64)c->sites.cnt + g->sites.cnt <= c->config.max_probes)
		return true;
	vec_for(s, &c->sites)
		cnt += !s->is_more;
	vec_for(s, &g->sites)
		cnt += !s->is_more;
	if (cnt > c->config.max_probes) {
		diag_error(c->diag, p->span, E_TOO_MANY_PROBES,
			   "Can't attach to %llu probes because it exceeds the current limit of %llu probes.",
			   (unsigned long long)cnt, (unsigned long long)c->config.max_probes);
		diag_hint(c->diag,
			  "raise the limit with the max_probes config variable or BPFTRACE_MAX_PROBES; "
			  "very many probes can slow the whole system down");
		return false;
	}
	return true;
}

static bool script_has(const struct script *s, u32 flag)
{
	vec_for(p, &s->probes) {
		for (u32 i = 0; i < (*p)->ap_cnt; i++) {
			const struct provider *prov = provider_find((*p)->aps[i].parts[0]);

			if (prov && prov->flags & flag)
				return true;
		}
	}
	return false;
}

/* Whether the script has probes for the mode. */
static bool has_work(const struct compile *c)
{
	u32 flag = c->mode == RUN_TESTS ? PROV_TEST : PROV_BENCH;

	if (c->mode == RUN_TRACE)
		return c->units.cnt;
	vec_for(u, &c->units)
		if ((*u)->provider->flags & flag)
			return true;
	return false;
}

static void nothing_to_do(struct compile *c)
{
	switch (c->mode) {
	case RUN_TRACE:
		diag_error_nowhere(c->diag, E_NO_MATCH, "No probes to attach");
		if (c->probe_filter)
			diag_hint(c->diag, "--probe-filter %s matches no probe of the script", c->probe_filter);
		if (script_has(c->script, PROV_TEST))
			diag_hint(c->diag, "the script has tests: --test runs them");
		if (script_has(c->script, PROV_BENCH))
			diag_hint(c->diag, "the script has benchmarks: --bench runs them");
		return;
	case RUN_TESTS:
		diag_error_nowhere(c->diag, E_NO_MATCH, "the script has no tests");
		diag_hint(c->diag, "a test is a probe of its own: test:NAME { … }");
		return;
	case RUN_BENCHES:
		diag_error_nowhere(c->diag, E_NO_MATCH, "the script has no benchmarks");
		diag_hint(c->diag, "a benchmark is a probe of its own: bench:NAME { … }");
		return;
	}
}

static void expand_probe(struct compile *c, const struct probe *p, const regex_t *filter)
{
	struct gather g = { .sink = {
		.add = add_site,
		.target = c->target,
		.c = c,
		.arena = c->arena,
	}, .filter = filter, .is_made = p->is_made };

	for (u32 i = 0; i < p->ap_cnt; i++) {
		g.ap_index = i;
		expand_attach_point(c, &g, &p->aps[i]);
	}
	if (!g.sites.cnt && !g.has_left_out)
		vec_for(u, &g.unmatched)
			no_match(c, u);
	if (within_limits(c, p, &g))
		make_units(c, p, &g);
}

/* Compiles --probe-filter. False: reported. */
static bool read_filter(struct compile *c, regex_t *filter)
{
	char why[128];
	int err = regcomp(filter, c->probe_filter, REG_EXTENDED | REG_NOSUB);

	if (!err)
		return true;
	regerror(err, filter, why, sizeof(why));
	diag_error_nowhere(c->diag, E_ATTACH_POINT, "--probe-filter %s: %s", c->probe_filter, why);
	return false;
}

bool lang_expand(struct compile *c)
{
	u32 errors = c->diag->error_cnt;
	regex_t filter;

	if (c->probe_filter && !read_filter(c, &filter))
		return false;
	for (u32 i = 0; i < c->script->probes.cnt; i++) /* probes that are created meanwhile come last */
		expand_probe(c, c->script->probes.at[i], c->probe_filter ? &filter : NULL);
	if (c->probe_filter)
		regfree(&filter);
	if (c->units.cnt > c->config.max_bpf_progs) {
		diag_error(c->diag, c->script->probes.at[0]->span, E_TOO_MANY_PROBES,
			   "The script needs %u programs, which exceeds the current limit of %llu.", c->units.cnt,
			   (unsigned long long)c->config.max_bpf_progs);
		diag_hint(c->diag, "raise the limit with the max_bpf_progs config variable or BPFTRACE_MAX_BPF_PROGS");
	}
	if (!has_work(c) && c->diag->error_cnt == errors)
		nothing_to_do(c);
	return c->diag->error_cnt == errors;
}

u32 site_value(struct compile *c, u32 site, enum site_show show)
{
	u32 *values = c->site_values[show];

	if (!values) {
		struct smap first = {}; /* text → index of the first site that shows it, plus 1 */

		values = c->site_values[show] = arena_alloc(c->arena, (c->sites.cnt + 1) * sizeof(*values));
		for (u32 i = 0; i < c->sites.cnt; i++) {
			const char *text = site_text(&c->sites.at[i], show);

			if (!smap_get(&first, text))
				smap_put(&first, text, (void *)(uintptr_t)(i + 1));
			values[i] = (uintptr_t)smap_get(&first, text);
		}
		smap_release(&first);
	}
	return values[site];
}
