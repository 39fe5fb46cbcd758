/* SPDX-License-Identifier: GPL-2.0-only */
/* `sonde type`: the layout of types, the job of pahole.
 *
 *   command   options; opens the types of a kernel, a module, a program or C headers, all as BTF
 *   layout    where the members of a struct lie, and what lies between them
 *   flat      the members of a struct as one list
 *   text, json  one type
 *   query, diff  many types
 */
#pragma once

int type_main(int argc, char **argv); /* the exit status */
