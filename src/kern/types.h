/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of the running kernel, from its BTF. */
#pragma once

#include "types/btf.h"

/* Types of the kernel and its modules, or of the file that SONDE_BTF (BPFTRACE_BTF) names. NULL if there are none. They are
 * opened at the first call, and stay. */
struct type_source *kern_types(void);
/* Whether a file begins as one of types does, which costs nothing: 0 or -errno, -EINVAL if not. */
int kern_types_look(const char *path);
/* Functions and types by name among these. */
bool kern_btf_func(const char *module, const char *name, struct btf_func *out);
u32 kern_btf_find_id(const char *name, enum btf_kind kind);
/* A descriptor of a module's BTF, as attach_btf_obj_fd wants it; the caller closes it. */
int kern_btf_module_fd(const char *module);
