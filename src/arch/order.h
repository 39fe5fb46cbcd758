/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory order of the processor that Sonde is built for. image/shared.h has the memory model that depends on it.
 *
 * TSO (total store order): all CPUs see the stores of a CPU in program order, and a CPU's loads take effect in program order.
 * Only a load may overtake an earlier store. To add an architecture: look its order up, and add a line here. Without it, nothing
 * compiles.
 */
#pragma once

#if defined(SONDE_WEAK_ORDER)
/* For tests (meson setup build-weak -Dc_args=-DSONDE_WEAK_ORDER): the code for weakly ordered processors, which is right on all
 * of them. */
enum { ARCH_IS_TSO = 0 };
#elif defined(__x86_64__)
enum { ARCH_IS_TSO = 1 };
#elif defined(__aarch64__)
enum { ARCH_IS_TSO = 0 };
#else
#error "arch/order.h: say whether this architecture is TSO"
#endif
