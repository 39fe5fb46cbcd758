/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of kernel addresses, for the sinks. */
#include "kern/kallsyms.h"
#include "run/symbols.h"
#include "sym/ids.h"

static bool name_ksym(void *self, u64 addr, struct sbuf *out)
{
	struct ksym sym;

	if (!kallsyms_find(addr, &sym))
		return false;
	sbuf_puts(out, sym.name);
	return true;
}

static bool name_kframe(void *self, u64 addr, u64 at, struct sbuf *out)
{
	struct ksym sym;

	if (!kallsyms_find(at, &sym))
		return false;
	sbuf_printf(out, "%s+%llu", sym.name, (unsigned long long)(addr - sym.addr));
	return true;
}

/* The way from a tracepoint to its program, as far as the compiler left calls of it. */
static bool hides_kframe(void *self, u64 addr)
{
	struct ksym sym;

	return kallsyms_find(addr, &sym) && (str_starts(sym.name, "__bpf_trace_") || str_starts(sym.name, "__traceiter_"));
}

void ksyms_naming(struct naming *n)
{
	n->ksym = name_ksym;
	n->username = ids_username;
	n->cgroup_path = ids_cgroup_path;
	n->kframe = name_kframe;
	n->khidden = hides_kframe;
}
