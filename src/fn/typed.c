/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions whose helper takes pointers of known type: only arguments of the probe itself (fentry, fexit, rawtracepoint, iter),
 * or pointers that are reached from them field by field. An address that went through a map or a cast is a scalar to the
 * verifier. */
#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "lang/provider.h"

static bool needs_typed(struct check *k, struct expr *e)
{
	if (k->unit->provider->flags & PROV_TYPED)
		return true;
	check_fail(k, e, E_NOT_ALLOWED_HERE, "%s() can only be used with fentry, fexit, rawtracepoint and iter probes",
		   e->call.name);
	diag_hint(k->c->diag, "it takes pointers of known type, which only these probes have");
	return false;
}

/* The struct that a is, or points to, must have this name. */
static bool is_struct(const struct expr *a, const char *name)
{
	const struct type *t = a->type->kind == T_POINTER ? a->type->elem : a->type;

	return t->kind == T_STRUCT && str_eq(t->name, name);
}

static bool needs_struct(struct check *k, struct expr *e, struct expr *a, const char *name)
{
	if (is_struct(a, name))
		return true;
	check_fail(k, a, E_ARG_TYPE, "%s() takes a struct %s (%s provided)", e->call.name, name,
		   type_str(check_arena(k), a->type));
	e->type = &type_error;
	return false;
}

/* The address of the struct, as a pointer that the verifier knows; goes on only if it is not NULL, else to `none`. False after an
 * error. */
static bool typed_addr(struct lower *l, struct expr *e, struct expr *a, struct ir_block *none, vreg *addr)
{
	struct val v = lower_known_ptr(l, a, NULL);
	struct ir_block *some = ir_block_new(l->b.f);
	vreg base = 0;

	if (v.kind == VAL_MEM && v.mem.btf && a->type->kind == T_STRUCT)
		base = v.mem.base;
	else if (v.kind == VAL_REG && v.btf && !v.r.is_imm)
		base = v.r.r;
	if (!base) {
		diag_error(l->c->diag, a->span, E_ARG_TYPE,
			   "%s() takes an argument of the probe, or a field of one: this is a plain address", e->call.name);
		diag_hint(l->c->diag, "write the whole path from args here, without a map or a cast");
		*addr = ir_imm(&l->b, 0);
		return false;
	}
	ir_br(&l->b, C_EQ, base, opnd_imm(0), none, some);
	ir_place(&l->b, some);
	*addr = v.kind == VAL_MEM && v.mem.off ? ir_alu(&l->b, IR_ADD, base, opnd_imm(v.mem.off)) :
						 base; /* lower_addr() would make a scalar of it */
	return true;
}

/* path */

/* Where the kernel allows it: functions that hold what the path needs. */
static const char *const path_funcs[] = {
	"security_file_permission",
	"security_inode_getattr",
	"security_file_open",
	"security_path_truncate",
	"vfs_truncate",
	"vfs_fallocate",
	"dentry_open",
	"vfs_getattr",
	"filp_close",
};

static bool has_path(const char *func)
{
	for (u32 i = 0; i < ARRAY_CNT(path_funcs); i++)
		if (str_eq(path_funcs[i], func))
			return true;
	return false;
}

static void check_path(struct check *k, struct expr *e)
{
	u64 size = e->call.arg_cnt > 1 ? e->call.args[1]->num.value : k->max_strlen;

	e->type = &type_error;
	if (!(k->unit->provider->flags & PROV_TYPED) || !(k->unit->provider->flags & (PROV_FUNC | PROV_ITER))) {
		check_fail(k, e, E_NOT_ALLOWED_HERE, "path() can only be used with fentry, fexit and iter probes");
		diag_hint(k->c->diag, "it takes pointers of known type, which only these probes have");
		return;
	}
	if (!needs_struct(k, e, e->call.args[0], "path"))
		return;
	if (!size || size > k->max_strlen) {
		check_fail(k, e->call.args[1], E_ARG_TYPE, "path() gives 1 to max_strlen (%u) bytes (%lld given)", k->max_strlen,
			   (long long)size);
		return;
	}
	for (u32 i = 0; i < k->unit->site_cnt && !k->unit->is_assumed; i++) {
		const struct site *s = &k->c->sites.at[k->unit->site_first + i];

		if (s->func && k->unit->provider->flags & PROV_FUNC && !has_path(s->func)) {
			check_fail(k, e, E_NOT_ALLOWED_HERE, "the kernel does not allow path() in %s", s->func);
			diag_hint(
				k->c->diag,
				"it is allowed in security_file_permission, security_inode_getattr, security_file_open, security_path_truncate, vfs_truncate, "
				"vfs_fallocate, dentry_open, vfs_getattr, filp_close, and in iter probes");
			return;
		}
	}
	e->type = type_string(check_arena(k), size);
}

static struct val lower_path(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct ir_block *none = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	u32 cap = e->type->size;
	struct mem m = dst ? *dst : lower_temp(l, cap, 8);
	struct val v = val_mem(m);
	vreg addr, to = lower_addr(l, m);

	v.len = ir_vreg(l->b.f);
	typed_addr(l, e, e->call.args[0], none, &addr);
	ir_mov_to(&l->b, v.len, opnd_reg(ir_call_of(&l->b, HELPER_d_path, opnd_reg(addr), opnd_reg(to), opnd_imm(cap))));
	ir_br(&l->b, C_UGT, v.len, opnd_imm(cap), none, done); /* longer than there is room for, or not there any more */
	ir_place(&l->b, none);
	ir_store(&l->b, to, 0, 1, opnd_imm(0));
	ir_mov_to(&l->b, v.len, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return v;
}

/* socket_cookie */

static void check_socket_cookie(struct check *k, struct expr *e)
{
	e->type = &type_u64;
	if (!needs_typed(k, e))
		return;
	needs_struct(k, e, e->call.args[0], "sock");
}

static struct val lower_socket_cookie(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct ir_block *done = ir_block_new(l->b.f);
	vreg d = ir_vreg(l->b.f), addr;

	ir_mov_to(&l->b, d, opnd_imm(0));
	typed_addr(l, e, e->call.args[0], done, &addr);
	ir_mov_to(&l->b, d, opnd_reg(ir_call_of(&l->b, HELPER_get_socket_cookie, opnd_reg(addr))));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

static const struct fn rows[] = {
	{ "path", "(any path, ?lit size) string",
	  "the file name of a struct path, in kernel functions where the kernel allows it",
	  "fentry:filp_close { print(path(args.filp.f_path)) }", 0, check_path, lower_path },
	{ "socket_cookie", "(any sock) uint64", "a number that identifies the socket as long as it exists",
	  "fentry:tcp_close { print(socket_cookie(args.sk)) }", 0, check_socket_cookie, lower_socket_cookie },
};

FN_FAMILY(fn_typed, rows);
