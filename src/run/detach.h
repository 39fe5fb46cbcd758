/* SPDX-License-Identifier: GPL-2.0-only */
/* Detaching, which may take long: the kernel waits for every CPU before it frees a probe. */
#pragma once

#include "base/base.h"

struct attach_ctx;

/* Detaches everything. probes: their number, for people. False: a signal asked to leave (signals_insist()) while the kernel was
 * still at it. A process of its own then goes on with it, and nothing of ctx is attached by us any more. */
bool detach_all(struct attach_ctx *ctx, u32 probes);
