/* SPDX-License-Identifier: GPL-2.0-only */
/* Network addresses. They travel as bytes, and become text when they are shown. */
#include <arpa/inet.h>

#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "lang/check.h"
#include "types/naming.h"

static const struct type type_inet, type_mac;

/* Bytes of an argument that is an array or a string (as arrays of char are); 0: it is none. */
static u32 array_size(const struct type *t)
{
	return t->kind == T_STRING || t->kind == T_ARRAY ? t->size : 0;
}

static void check_ntop(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[e->call.arg_cnt - 1];
	bool is_int = type_is_integral(a->type);

	e->type = &type_inet;
	if (e->call.arg_cnt > 1 && !type_is_integral(e->call.args[0]->type)) {
		check_fail(k, e->call.args[0], E_ARG_TYPE, "the address family must be an integer, not %s",
			   type_str(check_arena(k), e->call.args[0]->type));
		diag_hint(k->c->diag, "AF_INET is 2, AF_INET6 is 10");
		e->type = &type_error;
		return;
	}
	if (!is_int && array_size(a->type) != 4 && array_size(a->type) != 16) {
		const struct type *t = a->type;

		check_fail(k, a, E_ARG_TYPE, "ntop() takes an integer, or an array of 4 or 16 bytes (%s provided)",
			   type_str(check_arena(k), t));
		if (t->kind == T_POINTER)
			diag_hint(k->c->diag, "read what it points to: *(uint8[16] *)…, or a field of a struct");
		else if (t->kind == T_STRUCT)
			diag_hint(
				k->c->diag,
				"the address is a field of it: .in6_u.u6_addr8 of a struct in6_addr, .s_addr of a struct in_addr");
		e->type = &type_error;
	}
}

static struct val lower_ntop(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[e->call.arg_cnt - 1];
	u32 size = array_size(a->type);
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 4), addr = { .base = m.base, .off = m.off + 4 };
	struct opnd family = e->call.arg_cnt > 1 ? lower_scalar(l, e->call.args[0]) : opnd_imm(size == 16 ? AF_INET6 : AF_INET);

	ir_store(&l->b, m.base, m.off, 4, family);
	if (size) {
		struct val v = lower_expr(l, a, NULL);

		lower_copy(l, v.mem, addr, size);
	} else {
		size = 4;
		ir_store(&l->b, addr.base, addr.off, 4, opnd_reg(lower_reg(l, a)));
	}
	if (size < 16)
		lower_zero(l, (struct mem){ .base = addr.base, .off = addr.off + size }, 16 - size);
	return val_mem(m);
}

static void check_pton(struct check *k, struct expr *e)
{
	const char *text = e->call.args[0]->str.s;
	u8 *bytes = arena_alloc(check_arena(k), 16);
	bool is_v6 = strchr(text, ':') != NULL;

	if (inet_pton(is_v6 ? AF_INET6 : AF_INET, text, bytes) != 1) {
		check_fail(k, e->call.args[0], E_ARG_TYPE, "'%s' is not an IPv4 or IPv6 address", text);
		diag_hint(k->c->diag, "such as \"127.0.0.1\" or \"::1\"; names of hosts are not looked up");
		e->type = &type_error;
		return;
	}
	e->call.note = bytes;
	e->type = type_array(check_arena(k), &type_u8, is_v6 ? 16 : 4);
}

static struct val lower_pton(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct mem m = dst ? *dst : lower_temp(l, e->type->size, 8);
	const u8 *bytes = e->call.note;

	for (u32 at = 0; at < e->type->size;) {
		u32 w = (m.off + at) % 4 ? 1 : 4;
		s32 v = (s8)bytes[at];

		if (w == 4)
			memcpy(&v, bytes + at, 4);
		ir_store(&l->b, m.base, m.off + at, w, opnd_imm(v));
		at += w;
	}
	return val_mem(m);
}

static void check_macaddr(struct check *k, struct expr *e)
{
	const struct type *t = e->call.args[0]->type;

	e->type = &type_mac;
	if (!type_is_scalar(t) && array_size(t) < 6) {
		check_fail(k, e->call.args[0], E_ARG_TYPE, "macaddr() needs 6 bytes; %s has %u", type_str(check_arena(k), t),
			   array_size(t));
		e->type = &type_error;
	}
}

static struct val lower_macaddr(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *a = e->call.args[0];
	struct mem m = dst ? *dst : lower_temp(l, 6, 8), src;

	if (type_is_scalar(a->type))
		src = (struct mem){ .base = lower_reg(l, a), .as = lower_space(l, a) };
	else
		src = lower_expr(l, a, NULL).mem;
	lower_copy(l, src, m, 6);
	return val_mem(m);
}

static void text_inet(const struct show *w, const struct type *t, const u8 *data)
{
	char text[INET6_ADDRSTRLEN];
	u32 family;

	memcpy(&family, data, 4);
	/* inet_ntop() refuses what is neither of the two */
	sbuf_puts(w->out, inet_ntop((int)family, data + 4, text, sizeof(text)) ? text : "(?)");
}

static void text_mac(const struct show *w, const struct type *t, const u8 *data)
{
	sbuf_printf(w->out, "%02X:%02X:%02X:%02X:%02X:%02X", data[0], data[1], data[2], data[3], data[4], data[5]);
}

/* u32 address family, 16 bytes, the first 4 of them for IPv4. (A size that is written behind it is not needed: it has room for
 * both.) */
static const struct opaque inet = {
	.name = "inet",
	.word = "inet",
	.type = &type_inet,
	.flags = OPAQUE_EQUAL | OPAQUE_SIZED | OPAQUE_OWN,
	.text = text_inet,
};
static const struct opaque mac = {
	/* 6 bytes */
	.name = "mac", .word = "macaddr_t", .type = &type_mac, .flags = OPAQUE_EQUAL | OPAQUE_OWN, .text = text_mac,
};
static const struct type type_inet = OPAQUE_TYPE(inet, 20, 4), type_mac = OPAQUE_TYPE(mac, 6, 1);

static const struct fn rows[] = {
	{ "ntop", "(any family_or_addr, ?any addr) inet",
	  "an IPv4 or IPv6 address as text, from an integer in network order or from 4 or 16 bytes; the address family may come first",
	  "begin { print(ntop(0x0100007f)) }", 0, check_ntop, lower_ntop },
	{ "pton", "(strlit addr) uint8[]", "the bytes of an IPv4 or IPv6 address, in network order",
	  "begin { print(ntop(pton(\"::1\"))) }", 0, check_pton, lower_pton },
	{ "macaddr", "(ptr|int|str addr) mac", "an Ethernet address as text, from an array or from memory at an address",
	  "begin { print(macaddr(\"abcdef\")) }", 0, check_macaddr, lower_macaddr },
};

FN_FAMILY_OF(fn_net, rows, &inet, &mac);
