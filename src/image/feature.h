/* SPDX-License-Identifier: GPL-2.0-only */
/* The features that a kernel may or may not have: the vocabulary of compiler and loader. kern/feature.h asks the running kernel.
 */
#pragma once

#include "base/base.h"

enum kern_feature {
#define FEATURE_ROW(name, doc) KF_##name,
#include "image/feature.def"
#undef FEATURE_ROW
	KF_CNT
};

#define KF_BIT(name) (1ull << KF_##name)
#define KF_ALL ((1ull << KF_CNT) - 1)

/* KF_STACK_IDS: the most frames of a stack that can have an id. The kernel's default; root can change it. */
enum { STACK_ID_FRAMES = 127 };
