/* SPDX-License-Identifier: GPL-2.0-only */
/* The inside of the preprocessor, which pp.c (files, tokens, replacement), pp_directive.c (lines that start with #) and pp_if.c
 * (expressions of #if) share. */
#pragma once

#include "base/smap.h"
#include "c/pp.h"

/* A file that was read: kept, as the same ones come again and again. */
struct file {
	const char *path;
	const char *text;
	size_t len;
	struct csym *guard; /* of a file that is wholly inside of #ifndef GUARD … #endif */
	bool is_once;       /* #pragma once */
	bool was_read;
	u32 dir;            /* 1 + index of the directory where it was found */
	const char *folder; /* for #include "…" */
};

/* Where tokens come from: a source, or the replacement of a macro. */
struct frame {
	/* A source: */
	struct file *file;
	struct csource src;
	u32 cond_base;       /* conditions that were open before it */
	bool is_declaration; /* of a script, see pp_enter() */
	/* To find the guard: */
	bool saw_token;     /* something stands outside of the first #ifndef */
	struct csym *guard; /* candidate */
	bool guard_closed;
	/* A list: */
	const struct ctok *toks;
	u32 at, cnt;
	struct ctok name;     /* what it replaces; tokens without a place of their own take this one's */
	struct cmacro *macro; /* busy until the list ends; NULL: an argument */
};

struct cond {
	struct ctok at; /* its #if */
	bool is_on;     /* the branch is read */
	bool was_on;    /* the text around the condition is read */
	bool is_taken;  /* one of its branches was read */
	bool was_else;
	bool is_guard;
};

/* A call in a script that is being expanded to text. */
struct call {
	bool is_open, failed;
	struct ctok at; /* its name */
};

struct pp {
	struct arena *arena;
	const struct chost *host; /* NULL: headers */
	struct csyms syms;
	u32 bottom; /* pp_next() reads the frames from this index on */
	u32 depth;  /* of calls in arguments */
	/* A script: */
	struct file text; /* stands for the file of its frames */
	struct call call;
	u32 last_off;  /* offset of the last token that was read from its text */
	u32 text_end;  /* offset of the end of that text */
	bool is_quiet; /* stray tokens are not reported: a definition is being skipped */
	vec(const char *) dirs;
	vec(struct frame) frames;
	vec(struct cond) conds;
	struct smap files;   /* by path */
	struct smap lookups; /* "folder|name" → path */
	u32 counter;
	u32 pack;       /* #pragma pack; 0: none */
	vec(u32) packs; /* … that were pushed */
	u32 token_cnt;  /* made by macros */
	u32 error_cnt, file_cnt;
	struct sbuf errors;
	struct csym *s_defined, *s_va_args, *s_va_opt, *s_has_include, *s_has_include_next, *s_pragma;
};

/* Tokens that are collected and then stay: in the arena once they are complete. */
struct toks {
	vec(struct ctok) v;
};

/* ---- pp.c ---- */

/* The innermost frame that is a source; NULL: none. */
struct frame *pp_source_frame(struct pp *pp);
/* folder: of the file that includes, for "…"; NULL for <…>. first_dir: where to begin in the list (#include_next). NULL: not
 * found. */
struct file *pp_find_file(struct pp *pp, const char *name, const char *folder, u32 first_dir);
/* The same, and reads it next. False: not found. */
bool pp_include_from(struct pp *pp, const char *name, const char *folder, u32 first_dir);
const struct ctok *pp_keep(struct pp *pp, struct toks *t);
/* Reads the tokens next. m: whose replacement they are, or NULL. name: what they replace, or NULL. */
void pp_push_list(struct pp *pp, const struct ctok *toks, u32 cnt, struct cmacro *m, const struct ctok *name);
/* The next token with macros replaced, of the frames from index stop on; CTOK_END at their end. */
struct ctok pp_next_expanded(struct pp *pp, u32 stop);
/* All of them. */
void pp_expand_to(struct pp *pp, u32 stop, struct toks *out);
/* Removes the frames from index cnt on. */
void pp_pop_to(struct pp *pp, u32 cnt);

/* ---- pp_directive.c ---- */

/* Obeys the directive behind the token hash in the innermost frame, which is a source. False: there is no such directive. */
bool pp_directive(struct pp *pp, const struct ctok *hash);
/* Behind "#define": name, parameters, body. at: the directive, for messages. */
void pp_define_line(struct pp *pp, struct csource *src, const struct ctok *at);
/* The rest of the line, as it is. */
void pp_line_tokens(struct pp *pp, struct csource *src, struct toks *out);
/* <name> or "name" out of tokens. The result is the arena's. NULL: neither. */
const char *pp_header_name(struct pp *pp, const struct ctok *toks, u32 cnt, bool *is_quoted);
/* Reads the rest of a directive's line next, as a list, in which the operand of `defined` is not replaced. */
void pp_push_line(struct pp *pp);

/* ---- pp_if.c ---- */

/* Computes the rest of the line of #if or #elif. at: the directive, for messages. A wrong condition is reported, and false. */
bool pp_condition(struct pp *pp, const struct ctok *at);
