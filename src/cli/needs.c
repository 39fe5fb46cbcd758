/* SPDX-License-Identifier: GPL-2.0-only */
/* --needs: what a script needs of the system, from the rows of its probe types and functions. */
#include <stdio.h>

#include "base/json.h"
#include "cli/cli.h"
#include "image/need.h"
#include "kern/feature.h"
#include "lang/provider.h"
#include "run/privilege.h"

struct kind {
	const struct provider *provider;
	u32 cnt; /* of probes */
};

struct report {
	vec(struct kind) kinds;
	u32 needs;
	u64 required; /* features */
	u64 used;     /* features of this kernel that the compiler chose; there are alternatives */
	const char *const *unsafe;
	u32 unsafe_cnt;
};

static void add_kind(struct report *r, const struct provider *p, u32 cnt)
{
	r->needs |= p->needs;
	r->required |= p->features;
	vec_for(k, &r->kinds) {
		if (k->provider == p) {
			k->cnt += cnt;
			return;
		}
	}
	vec_push(&r->kinds, ((struct kind){ p, cnt }));
}

static const struct need_info *need_at(const struct report *r, u32 i)
{
	return r->needs >> i & 1 && !(need_table[i].unless & r->used) ? &need_table[i] : NULL;
}

/* ---- as text ---- */

static void put_caps(const struct report *r, bool is_kept, struct sbuf *out)
{
	u32 before = out->len;

	for (u32 i = 0; i < NEED_CNT; i++) {
		const struct need_info *n = need_at(r, i);
		u64 caps = !n ? 0 : is_kept ? n->kept : n->start;

		if (!caps)
			continue;
		sbuf_puts(out, "  ");
		if (caps == CAPS_ALL)
			sbuf_puts(out, "all");
		else
			capability_names(caps, ", ", out);
		sbuf_printf(out, ": %s\n", n->doc);
	}
	if (out->len == before)
		sbuf_puts(out, "  none\n");
}

static void put_text(const struct report *r, struct sbuf *out)
{
	sbuf_puts(out, "Probes:\n");
	vec_for(k, &r->kinds)
		sbuf_printf(out, "  %s: %u\n", k->provider->name, k->cnt);
	sbuf_puts(out, "Capabilities to start:\n");
	put_caps(r, false, out);
	sbuf_puts(out, "Capabilities kept while running, if Sonde has them:\n");
	put_caps(r, true, out);
	sbuf_printf(out, "System calls while running:\n  %s\n",
		    privilege_is_filtered(r->needs) ? "those for reading maps and files; others fail" :
						      "all, because the script starts commands");
	sbuf_puts(out, "Kernel features:\n");
	for (u32 f = 0; f < KF_CNT; f++)
		if ((r->required | r->used) >> f & 1)
			sbuf_printf(out, "  %s: %s%s\n", kern_feature_name(f), kern_feature_doc(f),
				    r->required >> f & 1 ? "" : "; used here, but not required");
	if (!(r->required | r->used))
		sbuf_puts(out, "  none\n");
	if (r->unsafe_cnt)
		sbuf_puts(out, "Functions and probes that need --unsafe:\n");
	for (u32 i = 0; i < r->unsafe_cnt; i++)
		sbuf_printf(out, "  %s\n", r->unsafe[i]);
}

/* ---- as JSON ---- */

static void put_cap_array(struct json *j, const char *key, u64 caps)
{
	const char *name;

	json_open_array(j, key);
	while (caps != CAPS_ALL && (name = capability_name(&caps)))
		json_put_text(j, NULL, name);
	json_close_array(j);
}

static void put_json_needs(const struct report *r, struct json *j)
{
	json_open_array(j, "needs");
	for (u32 i = 0; i < NEED_CNT; i++) {
		const struct need_info *n = need_at(r, i);

		if (!n)
			continue;
		json_open_object(j, NULL);
		put_cap_array(j, "start", n->start);
		put_cap_array(j, "kept", n->kept);
		json_put_bool(j, "keeps_all", n->kept == CAPS_ALL);
		json_put_text(j, "why", n->doc);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_json(const struct report *r, struct sbuf *out)
{
	struct json j = json_on(out, JSON_SPACED);

	json_open_object(&j, NULL);
	json_put_text(&j, "type", "needs");
	json_open_object(&j, "data");
	json_open_object(&j, "probes");
	vec_for(k, &r->kinds)
		json_put_int(&j, k->provider->name, k->cnt, false);
	json_close_object(&j);
	put_json_needs(r, &j);
	json_put_bool(&j, "filters_system_calls", privilege_is_filtered(r->needs));
	json_open_array(&j, "features");
	for (u32 f = 0; f < KF_CNT; f++) {
		if (!((r->required | r->used) >> f & 1))
			continue;
		json_open_object(&j, NULL);
		json_put_text(&j, "name", kern_feature_name(f));
		json_put_bool(&j, "is_required", r->required >> f & 1);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_open_array(&j, "unsafe");
	for (u32 i = 0; i < r->unsafe_cnt; i++)
		json_put_text(&j, NULL, r->unsafe[i]);
	json_close_array(&j);
	json_close_object(&j);
	json_close_object(&j);
	json_end_line(&j);
}

static void print(const struct cli *cli, struct report *r)
{
	struct sbuf text = {};

	r->needs = privilege_needs(r->needs | NEED_BIT(PROGRAMS), &cli->run);
	if (cli->run.format && str_eq(cli->run.format, "json"))
		put_json(r, &text);
	else
		put_text(r, &text);
	show_text(&text, stdout);
	sbuf_release(&text);
	vec_free(&r->kinds);
}

void needs_of_script(const struct cli *cli, const struct compile *c)
{
	struct report r = { .needs = c->needs, .required = c->features, .unsafe = c->unsafe.at, .unsafe_cnt = c->unsafe.cnt };

	/* A script whose probes this system does not have is not compiled to the end. */
	if (c->image && c->image->progs.cnt) {
		r.needs |= image_needs(c->image);
		r.used = image_features(c->image);
	}
	vec_for(u, &c->units)
		add_kind(&r, (*u)->provider, (*u)->site_cnt);
	print(cli, &r);
}

void needs_of_image(const struct cli *cli, const struct image *img)
{
	struct report r = { .needs = image_needs(img), .used = image_features(img) };

	vec_for(p, &img->progs)
		add_kind(&r, p->provider, p->site_cnt);
	print(cli, &r);
}
