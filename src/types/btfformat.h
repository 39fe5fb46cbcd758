/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF, the format: numbers and structs of the kernel's Documentation/bpf/btf.rst. */
#pragma once

#include "base/base.h"

#define BTF_MAGIC 0xeb9f

struct btf_header {
	u16 magic;
	u8 version;
	u8 flags;
	u32 hdr_len;
	u32 type_off, type_len; /* from the end of the header */
	u32 str_off, str_len;
};

enum btf_kind {
	BTF_KIND_UNKN,
	BTF_KIND_INT,
	BTF_KIND_PTR,
	BTF_KIND_ARRAY,
	BTF_KIND_STRUCT,
	BTF_KIND_UNION,
	BTF_KIND_ENUM,
	BTF_KIND_FWD,
	BTF_KIND_TYPEDEF,
	BTF_KIND_VOLATILE,
	BTF_KIND_CONST,
	BTF_KIND_RESTRICT,
	BTF_KIND_FUNC,
	BTF_KIND_FUNC_PROTO,
	BTF_KIND_VAR,
	BTF_KIND_DATASEC,
	BTF_KIND_FLOAT,
	BTF_KIND_DECL_TAG,
	BTF_KIND_TYPE_TAG,
	BTF_KIND_ENUM64,
	BTF_KIND_CNT
};

struct btf_type {
	u32 name_off;
	u32 info; /* vlen: bits 0-15, kind: 24-28, kind_flag: 31 */
	union {
		u32 size;
		u32 type;
	};
};

enum { BTF_INT_SIGNED = 1, BTF_INT_CHAR = 2, BTF_INT_BOOL = 4 };
enum { BTF_FUNC_STATIC, BTF_FUNC_GLOBAL, BTF_FUNC_EXTERN };
