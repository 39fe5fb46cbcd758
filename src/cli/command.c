/* SPDX-License-Identifier: GPL-2.0-only */
#include "cli/cli.h"
#include "type/command.h"

/* To add one: its file with a function like main(), and a row here. argv[0] is the command's name. */
static const struct command commands[] = {
	{ "help", "help [COMMAND]", "show this help, or that of a command", help_main },
	{ "inject", "inject [options] MODE CHAIN", "make calls of a kernel function fail under a chain of callers", inject_main },
	{ "type", "type [options] [NAME...]", "show the memory layout of types", type_main },
};

const struct command *command_at(u32 i)
{
	return i < ARRAY_CNT(commands) ? &commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	for (u32 i = 0; i < ARRAY_CNT(commands); i++)
		if (str_eq(commands[i].name, name))
			return &commands[i];
	return NULL;
}
