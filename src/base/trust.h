/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a file can be changed by users who should not be able to: what root runs must not be theirs to write. */
#pragma once

#include "base/base.h"

struct sbuf;

enum { TRUSTED_MAX = 8 };

/* Users who may own what is read: root, who runs us, and who called sudo. */
struct trust {
	u32 users[TRUSTED_MAX];
	u32 cnt;
};
void trust_init(struct trust *t);
/* … and the owner of this file, if it is one. */
void trust_owner_of(struct trust *t, const char *path);

/* Whether the file or directory, every directory above it and every symbolic link on the way belong to one of them, and nobody
 * else can write to them. A group may if it is root's, or has the owner's number (a private group). Directories above may have
 * the sticky bit instead (/tmp): others cannot replace there what is not theirs. False: *why says which one, and what is wrong.
 */
bool trust_path(const struct trust *t, const char *path, struct sbuf *why);
