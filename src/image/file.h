/* SPDX-License-Identifier: GPL-2.0-only */
/* An image in a file: `sonde --check -o FILE SCRIPT` writes one, `sonde FILE` runs it. Beside the image it has the script's text,
 * for messages, and what it was made for: numbers of types, offsets in structs and chosen ways to attach are those of one kernel,
 * so it runs on that kernel only. */
#pragma once

#include "image/image.h"

/* A kernel, as far as an image depends on it. kern/origin.h has that of the running one. */
struct image_origin {
	const char *machine; /* "x86_64" */
	const char *release; /* "6.12.48+deb13-cloud-amd64" */
	const char *version; /* when and how it was built, as uname -v shows it */
	u64 build;           /* a hash of its build notes */
	u64 types;           /* a hash of its BTF, and of that of the modules that the image has programs for */
	const char *boot_id; /* of this boot */
};

/* The file's bytes. */
void image_file_write(const struct image *img, const struct diag *d, const struct image_origin *o, struct sbuf *out);
/* Whether bytes are such a file. */
bool image_file_is(const void *bytes, size_t len);
/* Reads one; the script's text is added to d, which has none yet. NULL: *why says what is wrong with the file. */
struct image *image_file_read(const void *bytes, size_t len, struct diag *d, struct image_origin *o, const char **why);
/* Why an image that was made for one origin does not run on another, where `home` is what it can have; in the arena. NULL: it
 * does. */
const char *image_misfit(struct arena *a, const struct image *img, const struct image_origin *made_for,
			 const struct image_origin *here, const struct image_home *home);

u64 image_hash(const void *bytes, size_t len, u64 seed);
