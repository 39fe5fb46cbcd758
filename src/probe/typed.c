/* SPDX-License-Identifier: GPL-2.0-only */
#include "probe/typed.h"

#include "image/uapi.h"

bool typed_find_func(const struct target *t, const char *module, const char *name, struct btf_func *out)
{
	struct type_source *src = target_types(t);

	return src && btf_find_func(src, module, name, out);
}

bool typed_func_at(const struct target *t, const char *module, u32 id, struct btf_func *out)
{
	struct type_source *src = target_types(t);

	return src && btf_func_at(src, module, id, out);
}

bool typed_find_raw_tp(const struct target *t, const char *module, const char *name, struct btf_func *out)
{
	struct type_source *src = target_types(t);

	return src && btf_find_raw_tp(src, module, name, out);
}

const struct type *typed_args(struct arena *a, const struct btf_func *f)
{
	struct type *t = arena_new(a, struct type);

	t->kind = T_STRUCT;
	t->name = "args";
	t->size = f->param_sz;
	t->align = 8;
	t->members = arena_alloc(a, f->param_cnt * sizeof(*t->members));
	t->member_cnt = f->param_cnt;
	for (u32 i = 0; i < f->param_cnt; i++) {
		const struct type *p = f->params[i].type;

		t->members[i] = f->params[i];
		/* A kernel whose compiler does not tag pointers to user memory does not distinguish a system call's buffer from
		 * its own: the address decides. */
		if (p->kind == T_POINTER && p->as == AS_KERNEL && p->elem->kind != T_STRUCT)
			t->members[i].type = type_pointer(a, p->elem, AS_ANY);
	}
	return t;
}

/* The verifier allows loads of pointers to structs, to integers and to void; our types do not distinguish the last from pointers
 * to functions. Words that it does not allow are fetched by a helper, which returns a scalar. */
static bool is_loadable(const struct type *t)
{
	if (t->kind != T_POINTER)
		return true;
	return (t->elem->kind == T_STRUCT && t->elem->size) || t->elem->kind == T_INT;
}

struct val typed_word(struct lower *l, const struct type *t, u32 off, u32 helper)
{
	vreg ctx = lower_ctx(l), v;

	if (!type_is_scalar(t))
		return val_mem((struct mem){ ctx, off, AS_KERNEL });
	if (!is_loadable(t) && !helper)
		return val_reg(lower_load(l, (struct mem){ ctx, off, AS_KERNEL }, t));
	if (!is_loadable(t)) {
		struct mem m = lower_temp(l, 8, 8);

		lower_zero(l, m, 8);
		if (helper == HELPER_get_func_ret)
			ir_call_of(&l->b, helper, opnd_reg(ctx), opnd_reg(lower_addr(l, m)));
		else
			ir_call_of(&l->b, helper, opnd_reg(ctx), opnd_imm(off / 8), opnd_reg(lower_addr(l, m)));
		return val_reg(ir_load(&l->b, m.base, m.off, 8));
	}
	v = ir_load(&l->b, ctx, off, 8);
	if (t->kind == T_POINTER)
		return val_typed_ptr(l, v, t);
	/* Only the low bytes of the register are the argument. */
	return val_reg(t->size < 8 ? ir_ext(&l->b, t->is_signed ? IR_SEXT : IR_ZEXT, v, t->size) : v);
}

void typed_list_params(const struct btf_func *f, bool with_result, struct sbuf *out)
{
	btf_func_print(f, false, out);
	if (with_result)
		btf_func_print(f, true, out);
}

const char *typed_split(const char *site_name, char **module)
{
	const char *rest = strchr(site_name, ':') + 1, *name = strrchr(site_name, ':') + 1;

	*module = name > rest ? xasprintf("%.*s", (int)(name - rest - 1), rest) : NULL;
	return name;
}
