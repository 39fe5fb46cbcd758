/* SPDX-License-Identifier: GPL-2.0-only */
/* skboutput: packets into a file that tcpdump and wireshark read.
 *
 * The bytes are sent as an ordinary record, so the function works wherever there is a struct sk_buff, and losses are counted.
 * They are those of the packet's linear part: data that the network stack keeps in separate pages (mostly large sends) is cut
 * off, as by a capture length. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "image/image.h"
#include "fn/family.h"
#include "image/need.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "run/session.h"

enum { PACKET_MAX = 9216, LINKTYPE_RAW = 101 };

static const struct member *skb_member(const struct expr *skb, const char *name, u32 *off)
{
	return type_member(type_complete(skb->type->elem), name, off);
}

static void check_skboutput(struct check *k, struct expr *e)
{
	struct expr *skb = e->call.args[1];
	u32 off;

	e->type = &type_u32;
	if (!type_is_struct_ptr(skb->type) || !str_eq(skb->type->elem->name, "sk_buff")) {
		check_fail(k, skb, E_ARG_TYPE, "skboutput() takes a struct sk_buff * (%s provided)",
			   type_str(check_arena(k), skb->type));
		diag_hint(k->c->diag, "such as args.skb, or (struct sk_buff *)arg0");
		e->type = &type_error;
	} else if (!skb_member(skb, "data", &off) || !skb_member(skb, "len", &off) || !skb_member(skb, "data_len", &off)) {
		check_fail(k, skb, E_KERNEL_FEATURE, "the kernel's struct sk_buff lacks len, data_len or data");
		e->type = &type_error;
	}
}

static vreg load_member(struct lower *l, const struct expr *skb, vreg p, const char *name)
{
	u32 off = 0;
	const struct member *m = skb_member(skb, name, &off);

	return lower_load(l, (struct mem){ .base = p, .off = off, .as = AS_KERNEL }, m->type);
}

/* r = min(r, limit) */
static void limit_to(struct lower *l, vreg r, struct opnd limit)
{
	struct ir_block *over = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);

	ir_br(&l->b, C_UGT, r, limit, over, done);
	ir_place(&l->b, over);
	ir_mov_to(&l->b, r, limit);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

/* The record's buffer: u32 length, bytes. */
static struct val lower_packet(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *skb = e->call.args[1];
	struct ir_block *some = ir_block_new(l->b.f), *none = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg p = lower_reg(l, skb), n = ir_vreg(l->b.f), skip = lower_reg(l, e->call.args[3]), to = lower_addr(l, *dst), from,
	     err;
	vreg linear = ir_alu(&l->b, IR_SUB, load_member(l, skb, p, "len"), opnd_reg(load_member(l, skb, p, "data_len")));

	ir_mov_to(&l->b, n, opnd_reg(lower_reg(l, e->call.args[2])));
	limit_to(l, n, opnd_reg(linear));
	ir_br(&l->b, C_UGT, n, opnd_reg(skip), some, none);
	ir_place(&l->b, none);
	ir_store(&l->b, to, 0, 4, opnd_imm(0));
	ir_jmp(&l->b, done);
	ir_place(&l->b, some);
	from = ir_alu(&l->b, IR_ADD, load_member(l, skb, p, "data"), opnd_reg(skip));
	ir_alu_to(&l->b, IR_SUB, n, n, opnd_reg(skip));
	limit_to(l, n, opnd_imm(PACKET_MAX));
	ir_store(&l->b, to, 0, 4, opnd_reg(n));
	err = ir_call_of(&l->b, HELPER_probe_read_kernel, opnd_reg(ir_alu(&l->b, IR_ADD, to, opnd_imm(4))), opnd_reg(n),
			 opnd_reg(from));
	lower_check_read(l, HELPER_probe_read_kernel, err);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_mem(*dst);
}

static const struct fn packet_row = { .name = "skboutput", .lower = lower_packet };

static struct val lower_skboutput(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *fields[4] = { arena_new(l->c->arena, struct expr), arena_new(l->c->arena, struct expr), e->call.args[2],
				   e->call.args[3] };
	struct rec *r = lower_rec_new(l, e);
	u32 suffix;

	*fields[0] = *e;
	fields[0]->call.fn = &packet_row;
	fields[0]->type = type_buffer(l->c->arena, PACKET_MAX);
	*fields[1] = (struct expr){ .kind = E_CALL, .span = e->span, .type = &type_u64 };
	fields[1]->call.name = "nsecs";
	fields[1]->call.fn = fn_find("nsecs", &suffix);
	r->text = e->call.args[0]->str.s;
	lower_emit(l, r, fields, 4);
	return val_imm(0);
}

/* Files stay open until the end. */
static FILE *open_file(struct session *s, const struct rec *rec)
{
	static vec(struct {
		const char *name;
		FILE *file;
	}) files;
	u32 head[] = { 0xa1b23c4d, 2 | 4 << 16, 0, 0, PACKET_MAX, LINKTYPE_RAW }; /* times in nanoseconds, version 2.4 */
	FILE *f;
	int fd;

	vec_for(it, &files)
		if (str_eq(it->name, rec->text))
			return it->file;
	/* A FIFO that nobody reads is an error, not something to wait for. */
	fd = open(rec->text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f) {
		fwrite(head, sizeof(head), 1, f);
	} else {
		struct sbuf why = {};

		sbuf_printf(&why, "cannot write to %s: %s", rec->text, strerror(errno));
		s->out.sink->report(&s->out, "errorf", rec->span, s->diag, sbuf_str(&why));
		sbuf_release(&why);
	}
	vec_push(&files, ((typeof(*files.at)){ rec->text, f }));
	return f;
}

static void event_skboutput(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const u8 *bytes;
	u64 when, whole, skip;
	u32 cnt, head[4];
	FILE *f;

	if (!session_field(rec, data, len, 0, &bytes, &cnt) || cnt < 4 || !session_field_int(rec, data, len, 1, &when) ||
	    !session_field_int(rec, data, len, 2, &whole) || !session_field_int(rec, data, len, 3, &skip)) {
		s->bad_records++;
		return;
	}
	f = open_file(s, rec);
	if (!f)
		return;
	cnt -= 4;
	when += s->out.naming.boot_to_real_ns;
	head[0] = when / 1000000000;
	head[1] = when % 1000000000;
	head[2] = cnt;
	head[3] = whole > skip ? MAX((u64)cnt, whole - skip) : cnt;
	fwrite(head, sizeof(head), 1, f);
	fwrite(bytes + 4, 1, cnt, f);
	fflush(f);
}

static const struct fn rows[] = {
	{ "skboutput", "(strlit file, ptr skb, int len, int offset) uint32",
	  "writes a packet to a pcap file: at most len bytes, without the first offset bytes (14: the Ethernet header)",
	  "fentry:dev_queue_xmit { $r = skboutput(\"out.pcap\", args.skb, args.skb.len, 14); print($r) }", FN_ASYNC | FN_EFFECT,
	  check_skboutput, lower_skboutput, .event = event_skboutput, .needs = NEED_BIT(NEW_FILE) },
};

FN_FAMILY(fn_packets, rows);
