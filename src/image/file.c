/* SPDX-License-Identifier: GPL-2.0-only */
#include "image/file.h"

#include "image/pack.h"

#define MAGIC "\177SONDEIM"
enum { MAGIC_SZ = 8 };

/* Behind the magic. */
struct head {
	char version[24]; /* of Sonde: there is one form for each */
	u64 hash;         /* of all that follows */
};

/* Eight bytes at a time: a kernel has megabytes of types. */
u64 image_hash(const void *bytes, size_t len, u64 seed)
{
	const u8 *at = bytes;
	u64 h = seed ^ 0x9e3779b97f4a7c15ull ^ len;

	for (; len >= 8; at += 8, len -= 8) {
		u64 v;

		memcpy(&v, at, 8);
		h = (h ^ v) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (; len; at++, len--)
		h = (h ^ *at) * 0x100000001b3ull;
	return h ^ h >> 29;
}

static void pack_origin(struct packer *p, struct image_origin *o)
{
	pack_str(p, &o->machine);
	pack_str(p, &o->release);
	pack_str(p, &o->version);
	pack_value(p, &o->build);
	pack_value(p, &o->types);
	pack_str(p, &o->boot_id);
}

static void pack_source(struct packer *p, struct source *s)
{
	u32 len = pack_cnt(p, s->len);

	pack_str(p, &s->name);
	if (!p->out) {
		s->text = arena_alloc(p->arena, len + 1);
		s->len = len;
	}
	pack_bytes(p, (char *)s->text, len);
	pack_value(p, &s->is_imported);
	pack_value(p, &s->from);
}

static void pack_call(struct packer *p, struct span *s)
{
	pack_value(p, s);
}

static void pack_around(struct packer *p, struct image_origin *o, struct diag *d)
{
	pack_origin(p, o);
	pack_vec(p, &d->sources, pack_source);
	pack_vec(p, &d->calls, pack_call);
}

void image_file_write(const struct image *img, const struct diag *d, const struct image_origin *o, struct sbuf *out)
{
	struct head head = { .version = SONDE_VERSION };
	struct packer p = { .out = out, .start = out->len };
	size_t start = out->len, body;

	_Static_assert(sizeof(SONDE_VERSION) <= sizeof(head.version), "the version is too long for an image's head");
	sbuf_add(out, MAGIC, MAGIC_SZ);
	sbuf_add(out, &head, sizeof(head));
	body = out->len;
	pack_around(&p, (struct image_origin *)o, (struct diag *)d); /* writing leaves them as they are */
	pack_end(&p);
	image_pack(img, out);
	head.hash = image_hash(out->s + body, out->len - body, 0);
	memcpy(out->s + start + MAGIC_SZ, &head, sizeof(head));
}

bool image_file_is(const void *bytes, size_t len)
{
	return len >= MAGIC_SZ && !memcmp(bytes, MAGIC, MAGIC_SZ);
}

/* ---- reading ---- */

/* A macro's calls lead to earlier ones, and an import to an earlier source, so no way through them is endless. */
static bool span_is_sound(const struct diag *d, const struct span *s, u32 calls)
{
	return s->src < d->sources.cnt && s->begin <= s->end && s->end <= d->sources.at[s->src].len && s->via <= calls;
}

static bool sources_are_sound(const struct diag *d)
{
	for (u32 i = 0; i < d->sources.cnt; i++) {
		const struct source *s = &d->sources.at[i];

		if (!s->name || (s->is_imported && (s->from.src >= i || !span_is_sound(d, &s->from, 0))))
			return false;
	}
	for (u32 i = 0; i < d->calls.cnt; i++)
		if (!span_is_sound(d, &d->calls.at[i], i))
			return false;
	return true;
}

static bool spans_are_sound(const struct image *img, const struct diag *d)
{
	u32 calls = d->calls.cnt;

	vec_for(m, &img->script_maps)
		if (!span_is_sound(d, &m->first_use, calls))
			return false;
	vec_for(s, &img->sites)
		if (!span_is_sound(d, &s->span, calls))
			return false;
	vec_for(r, &img->recs)
		if (!span_is_sound(d, &(*r)->span, calls))
			return false;
	vec_for(f, &img->faults)
		if (!span_is_sound(d, &f->span, calls))
			return false;
	vec_for(p, &img->progs) {
		if (!span_is_sound(d, &p->span, calls))
			return false;
		for (u32 i = 0; i < p->line_cnt; i++)
			if (!span_is_sound(d, &p->lines[i].span, calls))
				return false;
	}
	return true;
}

struct image *image_file_read(const void *bytes, size_t len, struct diag *d, struct image_origin *o, const char **why)
{
	const u8 *at = bytes, *end = at + len;
	struct packer p = { .arena = d->arena };
	u8 *own;
	struct image *img;
	struct head head;

	if (len < MAGIC_SZ + sizeof(head)) {
		*why = "it ends too early";
		return NULL;
	}
	memcpy(&head, at + MAGIC_SZ, sizeof(head));
	at += MAGIC_SZ + sizeof(head);
	head.version[sizeof(head.version) - 1] = 0;
	if (!str_eq(head.version, SONDE_VERSION)) {
		*why = arena_printf(d->arena, "sonde %s wrote it, and this is sonde %s", head.version, SONDE_VERSION);
		return NULL;
	}
	if (head.hash != image_hash(at, end - at, 0)) {
		*why = "it is damaged";
		return NULL;
	}
	own = arena_memdup(d->arena, at, end - at); /* the sources stay there */
	p.at = own;
	p.end = own + (end - at);
	pack_around(&p, o, d);
	pack_end(&p);
	if (!p.why && (!o->machine || !o->release || !o->version || !o->boot_id || !sources_are_sound(d)))
		p.why = "it has no sound source";
	if (p.why) {
		*why = p.why;
		return NULL;
	}
	img = image_unpack(p.at, p.end - p.at, why);
	if (img && !spans_are_sound(img, d)) {
		*why = "it refers to lines that its source does not have";
		image_free(img);
		img = NULL;
	}
	return img;
}

/* ---- where it runs ---- */

const char *image_misfit(struct arena *a, const struct image *img, const struct image_origin *made_for,
			 const struct image_origin *here, const struct image_home *home)
{
	const struct image_home *h = &img->home;

	if (!str_eq(made_for->machine, here->machine))
		return arena_printf(a, "it was made for %s, and this machine is %s", made_for->machine, here->machine);
	if (!str_eq(made_for->release, here->release))
		return arena_printf(
			a, "it was made for Linux %s, and this is Linux %s: numbers of types and offsets in structs differ",
			made_for->release, here->release);
	if (!str_eq(made_for->version, here->version) || made_for->build != here->build)
		return arena_printf(a, "it was made for another build of Linux %s (%s), and this is %s", made_for->release,
				    made_for->version, here->version);
	if (made_for->types != here->types)
		return "it was made with other types (BTF) than this kernel and its modules have";
	if (h->is_of_boot && !str_eq(made_for->boot_id, here->boot_id))
		return "it has addresses or ids of the kernel, which change when the machine boots, and was made before the last time";
	if (h->ncpus != home->ncpus)
		return arena_printf(a, "it was made for %u CPUs, and this machine can have %u", h->ncpus, home->ncpus);
	if (h->pidns_ino != home->pidns_ino || h->pidns_dev != home->pidns_dev)
		return "it was made in another PID namespace";
	if (h->filter_pid != home->filter_pid && home->filter_pid)
		return h->filter_pid ? arena_printf(a, "it was made for process %u (-p)", h->filter_pid) :
				       "it was made without -p";
	return NULL;
}
