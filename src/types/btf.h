/* SPDX-License-Identifier: GPL-2.0-only */
/* Types of the language, made from BTF when they are asked for: of the kernel, of files, of C headers and of debug information.
 *
 * How BTF becomes struct type: const, volatile, restrict, typedef and type tags are skipped; a char is int8 and an array of them
 * a string; a pointer leads to kernel memory unless it is tagged `user`; pointers to functions are pointers to void; a struct
 * that is only declared is an empty struct; floats and integers of odd sizes are integers or arrays of the same size. Structs and
 * enums are made without members and completed on demand (type_complete()).
 *
 * Everything stays valid until the end of the process, or btf_close().
 */
#pragma once

#include "types/btfwriter.h"
#include "types/type.h"

/* Types of a BTF file (raw BTF, not ELF). The whole file is checked. NULL and *err = -errno on failure. */
struct type_source *btf_open_file(const char *path, int *err);
/* The same from memory, which is copied. */
struct type_source *btf_open_mem(const void *data, size_t len, int *err);
/* The same for the types of a script, as cparse_to_btf() writes them: they are not checked, and their pointers are open (see
 * below). Names that they do not define (forward declarations and typedefs with the kind_flag, too) are found in outer, which may
 * be NULL. */
struct type_source *btf_open_own(const void *data, size_t len, struct type_source *outer);
/* Does not look into outer. */
const struct type *btf_find_own(struct type_source *src, const char *keyword, const char *name);
/* Pointers in these types lead to where the pointer led by which they were reached: types of programs, not of the kernel. */
void btf_open_pointers(struct type_source *src);
void btf_close(struct type_source *src);

/* Where a kernel's modules are found. Their BTF continues the kernel's (struct btfraw). */
struct btf_modules {
	/* Calls fn with the name of each. */
	void (*each)(void (*fn)(void *arg, const char *name), void *arg);
	/* Returns 0 or -errno. */
	int (*open)(struct btfraw *raw, const char *name, struct btfraw *base);
};
/* Types of a kernel: names that it does not have are looked for in its modules, which are opened when they are needed. Takes over
 * raw, which is not checked. */
struct type_source *btf_open_kernel(struct btfraw raw, const struct btf_modules *modules);

/* BTF that grows while it is read: the writer converts a type when it is asked for. The first record of a struct, union or enum
 * has neither members nor constants. Its whole record, which has another number, is written when something asks for what is in
 * it. So one type does not bring along all that it refers to. */
struct btf_growth {
	struct btfwriter w;
	/* The number of the whole record of type id; 0: there is none. Where id is only declared, its size is in the whole
	 * record. */
	u32 (*define)(struct btf_growth *g, u32 id);
	/* The alignment that the source text gives type id, for which BTF has no form; 0: none. */
	u32 (*align)(struct btf_growth *g, u32 id);
};
/* Pointers lead to user memory. g must outlive the source, of which only btf_type() and btf_close() can be used. */
struct type_source *btf_open_growth(struct btf_growth *g);
const struct type *btf_type(struct type_source *src, u32 id);

/* A function: its parameters as a probe's arguments, one after the other, each in a multiple of 8 bytes. */
struct btf_func {
	u32 id;             /* for attach_btf_id */
	const char *module; /* NULL: the kernel itself */
	const struct type *ret;
	const struct member *params;
	u32 param_cnt;
	u32 param_sz; /* bytes of all of them: the offset of the result in a probe's context */
	bool is_variadic;
	/* For btf_func_print(). */
	const void *raw;
	u32 proto, first;
};

/* The function's parameters as C writes their types, a line each, indented by 4 spaces; is_ret: its result, as `retval`. For -lv.
 */
void btf_func_print(const struct btf_func *f, bool is_ret, struct sbuf *out);

/* module: NULL or "" searches everywhere, "vmlinux" only the kernel itself. False if there is no such function. */
bool btf_find_func(struct type_source *src, const char *module, const char *name, struct btf_func *out);
/* The same by number. */
bool btf_func_at(struct type_source *src, const char *module, u32 id, struct btf_func *out);
/* A raw tracepoint (without the first parameter, which programs do not see); id is that of the typedef btf_trace_NAME. */
bool btf_find_raw_tp(struct type_source *src, const char *module, const char *name, struct btf_func *out);
/* The type's number; 0: none. module (may be NULL) receives where it was found, NULL for the kernel itself. */
u32 btf_find_id(struct type_source *src, const char *name, enum btf_kind kind, const char **module);
/* Calls fn for each type of the kind, modules included, until it returns false. The name is valid during the call. */
typedef bool (*btf_each_fn)(void *arg, const char *module, const char *name, u32 id);
void btf_each(struct type_source *src, enum btf_kind kind, btf_each_fn fn, void *arg);

/* The C definition of a struct, union or enum; only inside of btf_each(), with what it passed. */
void btf_print_c(struct type_source *src, const char *module, u32 id, struct sbuf *out);
