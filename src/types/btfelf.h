/* SPDX-License-Identifier: GPL-2.0-only */
/* BTF inside of ELF files. */
#pragma once

#include "types/btfraw.h"

/* Reads the section .BTF of a 64-bit little-endian ELF file. base: of a module. Returns 0 or -errno, -EINVAL if there is none. */
int btfelf_open(struct btfraw *b, const char *path, struct btfraw *base);
