/* SPDX-License-Identifier: GPL-2.0-only */
/* --test and --bench: runs the script's own tests or benchmarks, one after the other. */
#pragma once

#include "run/session.h"

/* Runs all of them and tells the sink. Returns whether all passed. */
bool suite_run(struct session *s);
