/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared code of the providers whose programs have typed arguments (fentry, fexit, rawtracepoint): the context is an array of
 * 8-byte words, and the kernel knows the type of each from BTF. */
#pragma once

#include "probe/probe.h"
#include "types/btf.h"

/* A function of the target, by name or by number, and a raw tracepoint; as btf_find_func() and its like. False if there is none,
 * or no BTF. */
bool typed_find_func(const struct target *t, const char *module, const char *name, struct btf_func *out);
bool typed_func_at(const struct target *t, const char *module, u32 id, struct btf_func *out);
bool typed_find_raw_tp(const struct target *t, const char *module, const char *name, struct btf_func *out);

/* The struct behind `args`. */
const struct type *typed_args(struct arena *a, const struct btf_func *f);
/* The value of type t at offset off of the context. A value that the verifier does not allow to be loaded is fetched by the
 * helper: get_func_arg or get_func_ret, or 0 where programs have neither. */
struct val typed_word(struct lower *l, const struct type *t, u32 off, u32 helper);
/* -lv: a line for each parameter; the result, if there is one and it is wanted, as `retval`. */
void typed_list_params(const struct btf_func *f, bool with_result, struct sbuf *out);
/* "MODULE:NAME" of a site's name ("fentry:MODULE:NAME"); module is malloc'ed. */
const char *typed_split(const char *site_name, char **module);
