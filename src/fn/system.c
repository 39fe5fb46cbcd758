/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions that change the system: all of them need --unsafe. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "image/image.h"
#include "fn/family.h"
#include "ir/lower.h"
#include "image/feature.h"
#include "image/uapi.h"
#include "lang/check.h"
#include "image/fmt.h"
#include "image/need.h"
#include "lang/provider.h"
#include "out/value.h"
#include "run/command.h"
#include "run/session.h"

/* system: a command for the shell. */

static void event_system(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const char *words[] = { "/bin/sh", "-c", NULL };

	sbuf_reset(&s->text);
	session_format_raw(s, rec, data, len, &s->text);
	words[2] = sbuf_str(&s->text);
	command_add(s, rec, "system", command_words(words, ARRAY_CNT(words)));
}

/* Text of the traced system, which others may choose: names, strings, symbols. Numbers are not. */
static bool has_text(const struct unit *u, const struct type *t)
{
	bool found = false;

	switch (t->kind) {
	case T_STRING:
	case T_BUFFER:
	case T_KSTACK:
	case T_USTACK:
		return true;
	case T_OPAQUE:
		return !(t->opaque->flags & OPAQUE_OWN);
	case T_SITE:
		return u->provider->flags & PROV_USER_FILE; /* symbols of a file */
	case T_ARRAY:
		return has_text(u, t->elem);
	case T_STRUCT:
	case T_TUPLE:
		for (u32 i = 0; i < t->member_cnt && !found; i++)
			found = has_text(u, t->members[i].type);
		return found;
	case T_ERROR:
	case T_NONE:
	case T_VOID:
	case T_BOOL:
	case T_INT:
	case T_ENUM:
	case T_POINTER:
	case T_AGG:
	case T_KIND_CNT:
		return false;
	}
	return false;
}

static struct val lower_system(struct lower *l, struct expr *e, const struct mem *dst)
{
	for (u32 i = 1; i < e->call.arg_cnt; i++) {
		const struct expr *a = e->call.args[i];

		if (expr_is_own(a) || !has_text(l->unit, a->type))
			continue;
		diag_warn(l->c->diag, a->span, W_SHELL,
			  "system() passes this text to a shell: whoever can choose it can run any command");
		diag_hint(l->c->diag, "exec(\"PROGRAM\", …) passes arguments without a shell");
	}
	return printf_lower(l, e, dst);
}

/* exec: a program and its arguments, without a shell. */

static void check_exec(struct check *k, struct expr *e)
{
	e->type = &type_none;
	for (u32 i = 1; i < e->call.arg_cnt; i++) {
		struct expr *a = e->call.args[i];

		if (is_poisoned(a) || (!type_is_agg(a->type) && fmt_accepts(FMT_S, a->type)))
			continue;
		check_fail(k, a, E_ARG_TYPE, "exec() cannot pass a value of type %s to a program",
			   type_str(check_arena(k), a->type));
		e->type = &type_error;
	}
}

static struct val lower_exec(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct rec *r = lower_rec_new(l, e);

	r->text = e->call.args[0]->str.s;
	lower_emit(l, r, e->call.args + 1, e->call.arg_cnt - 1);
	return val_none();
}

/* Not all of the string fitted: the program would do something to another thing of that name. */
static bool is_cut(const struct type *t, const u8 *bytes, u32 cnt)
{
	return t->kind == T_STRING && !t->is_fillable && t->size && strnlen((const char *)bytes, MIN(cnt, t->size)) == t->size;
}

static void event_exec(struct session *s, const struct rec *rec, const u8 *data, u32 len)
{
	const char **words = xzalloc((rec->field_cnt + 1) * sizeof(*words));
	struct naming n = s->out.naming;
	const char *why = NULL;
	u32 cnt = 1;

	n.escapes = false;
	words[0] = rec->text;
	for (u32 i = 0; i < rec->field_cnt && !why; i++) {
		const struct type *t = rec->fields[i].type;
		struct sbuf word = {};
		const u8 *bytes;
		u32 sz;

		if (!session_field(rec, data, len, i, &bytes, &sz)) {
			s->bad_records++;
			goto out;
		}
		value_text_n(&n, t, bytes, sz, &word);
		words[cnt++] = word.s ? word.s : xstrdup("");
		if (is_cut(t, bytes, sz))
			why = "exec(): the command was not run, because an argument is longer than max_strlen";
	}
	if (why)
		s->out.sink->report(&s->out, "runtime_error", rec->span, s->diag, why);
	else
		command_add(s, rec, "exec", command_words(words, cnt));
out:
	while (cnt > 1)
		free((char *)words[--cnt]);
	free(words);
}

static int signal_number(const char *name)
{
	if (str_starts(name, "SIG"))
		name += 3;
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && str_eq(sigabbrev_np(i), name))
			return i;
	return 0;
}

static void check_signal(struct check *k, struct expr *e)
{
	struct expr *a = e->call.args[0];

	e->type = &type_none;
	if (!(k->unit->provider->flags & PROV_SIGNAL)) {
		check_fail(k, e, E_NOT_ALLOWED_HERE, "%s() can not be used with %s probes", e->call.name,
			   k->unit->provider->name);
		diag_hint(k->c->diag, "it needs a probe that runs in the process that gets the signal");
		return;
	}
	if (a->kind == E_STR) {
		int n = signal_number(a->str.s);

		if (!n) {
			check_fail(k, a, E_ARG_TYPE, "'%s' is not a signal", a->str.s);
			e->type = &type_error;
			return;
		}
		expr_become_int(a, n, false);
	} else if (expr_is_int(a) && (a->num.value < 1 || a->num.value > 64)) {
		check_fail(k, a, E_ARG_TYPE, "signals are numbered from 1 to 64 (%lld given)", (long long)a->num.value);
		e->type = &type_error;
	}
}

void signal_send(struct lower *l, struct span at, u32 helper, struct opnd sig)
{
	struct ir_block *bad = ir_block_new(l->b.f), *done = ir_block_new(l->b.f);
	vreg err = ir_call_of(&l->b, helper, sig);

	ir_br(&l->b, C_NE, err, opnd_imm(0), bad, done);
	ir_place(&l->b, bad);
	lower_helper_error(l, at, helper, opnd_reg(err), NULL);
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
}

static struct val lower_signal(struct lower *l, struct expr *e, const struct mem *dst)
{
	signal_send(l, e->span, HELPER_send_signal, lower_scalar(l, e->call.args[0]));
	return val_none();
}

static struct val lower_signal_thread(struct lower *l, struct expr *e, const struct mem *dst)
{
	signal_send(l, e->span, HELPER_send_signal_thread, lower_scalar(l, e->call.args[0]));
	return val_none();
}

static void check_override(struct check *k, struct expr *e)
{
	e->type = &type_none;
	if (!(k->unit->provider->flags & PROV_OVERRIDE)) {
		check_fail(k, e, E_NOT_ALLOWED_HERE, "override() can only be used with kprobe probes");
		return;
	}
	if (!target_has(k->c, KF_OVERRIDE)) {
		check_fail(k, e, E_KERNEL_FEATURE, "this kernel cannot override functions");
		diag_hint(k->c->diag, "it needs CONFIG_BPF_KPROBE_OVERRIDE and CONFIG_FUNCTION_ERROR_INJECTION");
	}
}

static struct val lower_override(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct opnd rc = lower_scalar(l, e->call.args[0]);

	ir_call_of(&l->b, HELPER_override_return, opnd_reg(lower_ctx(l)), rc);
	return val_none();
}

/* write_user: copies our own bytes, or bytes at an address, into the memory of the process. Only loading shows whether the kernel
 * allows it: a trial in advance would put a warning into its log at every start. */

static void check_write_user(struct check *k, struct expr *e)
{
	struct expr *src = e->call.args[1], *n = e->call.args[2];
	bool is_bytes = src->type->kind == T_STRING || src->type->kind == T_ARRAY;
	u32 most = is_bytes ? src->type->size : k->max_strlen;

	e->type = &type_bool;
	if (!is_bytes && src->type->kind != T_POINTER) {
		check_fail(k, src, E_ARG_TYPE,
			   "write_user() writes a string, an array, or what a pointer points to (%s provided)",
			   type_str(check_arena(k), src->type));
		e->type = &type_error;
	} else if (expr_is_int(n) && (!n->num.value || n->num.value > most)) {
		check_fail(k, n, E_OUT_OF_BOUNDS, "write_user() can write 1 to %u bytes from there (%lld given)", most,
			   (long long)n->num.value);
		e->type = &type_error;
	}
}

static struct val lower_write_user(struct lower *l, struct expr *e, const struct mem *dst)
{
	struct expr *src = e->call.args[1], *n = e->call.args[2];
	bool is_ptr = src->type->kind == T_POINTER;
	u32 cap = expr_is_int(n) ? n->num.value : is_ptr ? l->c->config.max_strlen : src->type->size;
	struct ir_block *some = ir_block_new(l->b.f), *write = ir_block_new(l->b.f), *good = ir_block_new(l->b.f),
			*done = ir_block_new(l->b.f);
	vreg to = lower_reg(l, e->call.args[0]), d = ir_vreg(l->b.f);
	struct opnd len = lower_scalar(l, n);
	struct mem from;

	if (is_ptr) {
		from = (struct mem){ .base = lower_reg(l, src), .as = src->type->as == AS_NONE ? AS_ANY : src->type->as };
		if (from.as != AS_NONE) {
			struct mem copy = lower_temp(l, cap, 8);

			lower_zero(l, copy, cap);
			lower_read(l, from, cap, copy);
			from = copy;
		}
	} else {
		from = lower_mem(l, src);
	}
	ir_mov_to(&l->b, d, opnd_imm(0));
	if (!len.is_imm) {
		/* The lower bound last, and not as != 0: old verifiers derive no bound from that, and new ones drop it when a
		 * value derived from this one is compared. */
		ir_br(&l->b, C_UGT, len.r, opnd_imm(cap), done, some);
		ir_place(&l->b, some);
		ir_br(&l->b, C_UGE, len.r, opnd_imm(1), write, done);
		ir_place(&l->b, write);
	}
	ir_br(&l->b, C_EQ, ir_call_of(&l->b, HELPER_probe_write_user, opnd_reg(to), opnd_reg(lower_addr(l, from)), len),
	      opnd_imm(0), good, done);
	ir_place(&l->b, good);
	ir_mov_to(&l->b, d, opnd_imm(1));
	ir_jmp(&l->b, done);
	ir_place(&l->b, done);
	return val_reg(d);
}

static const struct fn rows[] = {
	{ "system", "(strlit format, …) none", "runs a shell command and prints its output", "begin { system(\"echo %d\", pid) }",
	  FN_ASYNC | FN_UNSAFE, printf_check, lower_system, .event = event_system, .needs = NEED_BIT(COMMANDS) },
	{ "exec", "(strlit program, …) none",
	  "runs a program with these arguments, without a shell, and prints its output; strings of the traced system are safe here",
	  "begin { exec(\"echo\", \"I am\", comm) }", FN_ASYNC | FN_UNSAFE, check_exec, lower_exec, .event = event_exec,
	  .needs = NEED_BIT(COMMANDS) },
	{ "signal", "(int|strlit sig) none", "sends a signal to the current process",
	  "kprobe:__x64_sys_getuid { signal(\"SIGUSR1\") }", FN_UNSAFE, check_signal, lower_signal },
	{ "signal_thread", "(int|strlit sig) none", "sends a signal to the current thread",
	  "kprobe:__x64_sys_getuid { signal_thread(\"SIGUSR1\") }", FN_UNSAFE, check_signal, lower_signal_thread },
	{ "write_user", "(ptr|int dst, any src, int len) bool",
	  "writes len bytes into the memory of the current process; true on success",
	  "uprobe:/bin/bash:readline { write_user(arg0, \"$\", 1) }", FN_UNSAFE | FN_EFFECT, check_write_user, lower_write_user },
	{ "override", "(int rc) none", "makes the probed function return rc without running",
	  "kprobe:__x64_sys_getuid { override(1337) }", FN_UNSAFE, check_override, lower_override, .features = KF_BIT(OVERRIDE) },
};

FN_FAMILY(fn_system, rows);
