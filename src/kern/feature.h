/* What the running kernel can do.
 *
 * To add a feature: a row in feature.def and a probe in feature.c; the compiler points there. A probe tries the thing itself with
 * an argument that must fail late, or loads the smallest program that needs it: configuration files and version numbers lie, as
 * distributions backport and remove.
 */
#pragma once

#include "base/base.h"

enum kern_feature {
#define FEATURE_ROW(name, doc) KF_##name,
#include "kern/feature.def"
#undef FEATURE_ROW
	KF_CNT
};

#define KF_BIT(name) (1ull << KF_##name)
/* Those whose probe takes microseconds; the others search all of the kernel's BTF, a millisecond or two. */
#define KF_CHEAP (((1ull << KF_CNT) - 1) & ~(KF_BIT(TP_BTF) | KF_BIT(FENTRY)))

/* Probes once, then remembers. */
bool kern_has(enum kern_feature f);
/* Bits of all features that are in `wanted` and that the kernel has. */
u64 kern_features(u64 wanted);
const char *kern_feature_name(enum kern_feature f);
const char *kern_feature_doc(enum kern_feature f);
