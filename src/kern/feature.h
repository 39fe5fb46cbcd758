/* SPDX-License-Identifier: GPL-2.0-only */
/* What the running kernel can do.
 *
 * To add a feature: a row in feature.def and a probe in feature.c; the compiler points there. A probe tries the thing itself with
 * an argument that must fail late, or loads the smallest program that needs it: configuration files and version numbers are not
 * reliable, because distributions backport and remove features.
 */
#pragma once

#include "base/base.h"
#include "image/feature.h"

/* Probes once, then remembers. */
bool kern_has(enum kern_feature f);
/* Bits of all features that are in `wanted` and that the kernel has. */
u64 kern_features(u64 wanted);
const char *kern_feature_name(enum kern_feature f);
/* Why the answer of kern_has(), that the kernel has not got it, means nothing: we could not ask. NULL: we could. */
const char *kern_feature_unknown(enum kern_feature f);
const char *kern_feature_doc(enum kern_feature f);
