/* The inside of the preprocessor: what pp.c (files, tokens, replacement), pp_directive.c (lines that start with #) and pp_if.c (the expressions of #if) share. */
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
	u32 cond_base;      /* conditions that were open before it */
	/* To find the guard: */
	bool saw_token;     /* something stands outside of the first #ifndef */
	struct csym *guard; /* candidate */
	bool guard_closed;
	/* A list: */
	const struct ctok *toks;
	u32 at, cnt;
	bool has_space;       /* before its first token */
	struct cmacro *macro; /* busy until the list ends; NULL: an argument */
};

struct cond {
	bool is_taken;   /* one of its branches was read */
	bool was_else;
	bool is_guard;
};

struct pp {
	struct arena *arena;
	struct csyms syms;
	vec(const char *) dirs;
	vec(struct frame) frames;
	vec(struct cond) conds;
	struct smap files;   /* by path */
	struct smap lookups; /* "folder|name" → path */
	u32 counter;
	u32 pack;            /* #pragma pack; 0: none */
	vec(u32) packs;      /* … that were pushed */
	u32 token_cnt;       /* made by macros */
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
/* folder: of the file that includes, for "…"; NULL for <…>. first_dir: where to begin in the list (#include_next). NULL: not found. */
struct file *pp_find_file(struct pp *pp, const char *name, const char *folder, u32 first_dir);
/* The same, and reads it next. False: not found. */
bool pp_include_from(struct pp *pp, const char *name, const char *folder, u32 first_dir);
const struct ctok *pp_keep(struct pp *pp, struct toks *t);
/* Reads the tokens next. m: whose replacement they are, or NULL. */
void pp_push_list(struct pp *pp, const struct ctok *toks, u32 cnt, struct cmacro *m, bool has_space);
/* The next token with macros replaced, of the frames from number stop on; CTOK_END at their end. */
struct ctok pp_next_expanded(struct pp *pp, u32 stop);

/* ---- pp_directive.c ---- */

/* Behind a "#" at the begin of a line of the innermost frame, which is a source. */
void pp_directive(struct pp *pp);
/* Behind "#define": name, parameters, body. */
void pp_define_line(struct pp *pp, struct csource *src);
/* The rest of the line, as it is. */
void pp_line_tokens(struct pp *pp, struct csource *src, struct toks *out);
/* <name> or "name" out of tokens. The result is the arena's. NULL: neither. */
const char *pp_header_name(struct pp *pp, const struct ctok *toks, u32 cnt, bool *is_quoted, u32 *used);
/* Macros of a list replaced, for #if and #include NAME. keep_defined: the operand of `defined` and of __has_… stays. */
void pp_expand_list(struct pp *pp, const struct ctok *toks, u32 cnt, bool keep_defined, struct toks *out);

/* ---- pp_if.c ---- */

/* Behind "#if" or "#elif" in a line of f: reads and computes it. What is broken is false, and an error. */
bool pp_condition(struct pp *pp, struct frame *f);
