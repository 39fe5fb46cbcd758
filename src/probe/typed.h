/* What providers share whose programs have typed arguments (fentry, fexit, rawtracepoint): the context is an array of 8-byte words, and the
 * kernel knows from BTF what each of them is. */
#pragma once

#include "kern/btf.h"
#include "probe/probe.h"

/* The struct behind `args`. */
const struct type *typed_args(struct arena *a, const struct btf_func *f);
/* The value of type t at offset off of the context. What the verifier does not let us load is fetched by the helper: get_func_arg, get_func_ret,
 * or, where programs have neither, 0. */
struct val typed_word(struct lower *l, const struct type *t, u32 off, u32 helper);
/* -lv: a line for each parameter; the result, if there is one and it is wanted, as `retval`. */
void typed_list_params(const struct btf_func *f, bool with_result, struct sbuf *out);
/* "MODULE:NAME" of a site's name ("fentry:MODULE:NAME"); module is malloc'ed. */
const char *typed_split(const char *site_name, char **module);
