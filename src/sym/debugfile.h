/* SPDX-License-Identifier: GPL-2.0-only */
/* Debug information that is not in the file that it describes.
 *
 * Distributions strip programs and libraries. The removed debug information is found, in this order:
 *   - by build id: DIR/.build-id/ab/cdef….debug in each absolute directory of the search path;
 *   - by name (.gnu_debuglink, else NAME.debug): beside the file, in .debug beside it, in DIR/path/of/the/file;
 *   - from a debuginfod server, by the command debuginfod-find, if the caller may wait, DEBUGINFOD_URLS is set and the command is
 * there;
 *   - packed into the section .gnu_debugdata: only names of functions.
 * The search path is the directories of --debuginfo, then /usr/lib/debug. A file found by name must have the same build id, or
 * the checksum of .gnu_debuglink. Of a file inside of another mount namespace (/proc/PID/root/…) the directories of that
 * namespace are searched first.
 */
#pragma once

#include "sym/objfile.h"

/* Directories separated by colons, searched before the others; relative ones are beside the file. A + in front of the text is
 * accepted without effect: checksums are always compared. The text must stay valid. */
void debugfile_set_path(const char *dirs);

/* The debug file of `of`, which was opened from path. Returns 0 or -ENOENT. */
int debugfile_open(struct objfile *of, const char *path, bool may_fetch, struct objfile *out);
/* .gnu_debugdata, unpacked. Returns 0, or -ENOENT if there is none (or Sonde was built without liblzma). */
int debugfile_open_packed(struct objfile *of, struct objfile *out);
/* The file with the parts that several debug files share (.gnu_debugaltlink, made by dwz). path: of the debug file; may be
 * NULL. */
int debugfile_open_alt(struct objfile *debug, const char *path, struct objfile *out);
/* A build id in hexadecimal, malloc'ed. */
char *build_id_text(struct bytes id);
