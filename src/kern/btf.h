/* Types of the kernel, read from its BTF when they are asked for.
 *
 * How BTF becomes struct type: const, volatile, restrict, typedef and type tags are skipped; a char is int8 and an array of them
 * a string; a pointer leads to kernel memory unless it is tagged `user`; pointers to functions are pointers to void; a struct
 * that is only declared is an empty struct; floats and integers of odd sizes are integers or arrays of the same size. Structs and
 * enums are made without members and completed on demand (type_complete()).
 *
 * Everything stays valid until the end of the process, or btf_close().
 */
#pragma once

#include "kern/uapi.h"
#include "lang/type.h"

/* Types of the running kernel and its modules, or of the file that SONDE_BTF (BPFTRACE_BTF) names. NULL if there are none. */
struct type_source *kern_types(void);
/* Types of a BTF file (raw BTF, not ELF). The whole file is checked. NULL and *err = -errno on failure. */
struct type_source *btf_open_file(const char *path, int *err);
/* The same from memory, which is copied. */
struct type_source *btf_open_mem(const void *data, size_t len, int *err);
/* Pointers in these types lead to where the pointer led by which they were reached: types of programs, not of the kernel. */
void btf_open_pointers(struct type_source *src);
void btf_close(struct type_source *src);

/* A function: its parameters as a probe's arguments, one after the other, each in a multiple of 8 bytes. */
struct btf_func {
	u32 id;             /* for attach_btf_id */
	const char *module; /* NULL: the kernel itself */
	const struct type *ret;
	const struct member *params;
	u32 param_cnt;
	u32 param_sz;       /* bytes of all of them: where a probe's context has the result */
	bool is_variadic;
	/* What btf_func_print() reads. */
	const void *raw;
	u32 proto, first;
};

/* The function's parameters as C writes their types, a line each, indented by 4 spaces; is_ret: its result, as `retval`. For -lv. */
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

/* On kern_types(). */
bool kern_btf_func(const char *module, const char *name, struct btf_func *out);
bool kern_btf_func_at(const char *module, u32 id, struct btf_func *out);
u32 kern_btf_find_id(const char *name, enum btf_kind kind);
/* A descriptor of a module's BTF, as attach_btf_obj_fd wants it; the caller closes it. */
int kern_btf_module_fd(const char *module);
