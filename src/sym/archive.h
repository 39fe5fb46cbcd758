/* SPDX-License-Identifier: GPL-2.0-only */
/* Files inside of ZIP archives, "app.apk!/lib/libx.so": programs map them from there when they are stored without compression. */
#pragma once

#include "sym/objfile.h"

/* The length of the archive's part of a name, 0: the name has no member. */
size_t archive_name_len(const char *path);

/* Opens an ELF file, which may be a member of an archive; *base is its offset there. Returns as objfile_open() does, or -EILSEQ:
 * not a ZIP archive; -ENOTSUP: the member is compressed, or the archive larger than 4 GiB. */
int archive_open(struct objfile *o, const char *path, u64 *base);
