/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON, written into an sbuf. The writer puts the separators and the quotes:
 *
 *	struct json j = json_on(out, JSON_SPACED);
 *
 *	json_open_object(&j, NULL);
 *	json_put_text(&j, "name", name);
 *	json_open_array(&j, "sizes");
 *	json_put_int(&j, NULL, 4, false);
 *	json_close_array(&j);
 *	json_close_object(&j);          {"name": "…", "sizes": [4]}
 *
 * Every value has a key: its name in the object, or NULL in an array and at the top level. Keys are constants of the program
 * and are not escaped; json_put_key() is for the others.
 *
 * The caller may empty the buffer at any time: the writer does not read it. A writer needs no release, so a function that writes
 * one value may have its own.
 */
#pragma once

#include "base/sbuf.h"

/* Bytes of the UTF-8 sequence at s; 0 if there is no valid one (RFC 3629: shortest form, no surrogates, up to U+10FFFF). s[0] is
 * not ASCII. */
u32 utf8_len(const u8 *s, size_t left);
/* There is a text such as \x1f at s. */
bool is_hex_escape(const u8 *s, size_t left);

enum json_style {
	JSON_SPACED,       /* {"a": 1, "b": [1, 2]} */
	JSON_TIGHT_ARRAYS, /* {"a": 1, "b": [1,2]}: values of maps, as bpftrace writes them */
	JSON_TIGHT,        /* {"a":1,"b":[1,2]} */
};

struct json {
	struct sbuf *out;
	enum json_style style;
	bool needs_comma; /* before the next value */
};

static inline struct json json_on(struct sbuf *out, enum json_style style)
{
	return (struct json){ .out = out, .style = style };
}

void json_open_object(struct json *j, const char *key);
void json_close_object(struct json *j);
void json_open_array(struct json *j, const char *key);
void json_close_array(struct json *j);

void json_put_text(struct json *j, const char *key, const char *s);
void json_put_bytes(struct json *j, const char *key, const char *s, size_t len); /* as json_string() */
void json_put_int(struct json *j, const char *key, u64 v, bool is_signed);       /* as json_int() */
void json_put_bool(struct json *j, const char *key, bool v);
/* A key of any bytes. The value follows, with NULL as its key. */
void json_put_key(struct json *j, const char *s, size_t len);
/* For a value that other code writes: the caller adds exactly one to the returned buffer. */
struct sbuf *json_value(struct json *j, const char *key);
/* Ends the line after a complete value. The next value starts a new text. */
void json_end_line(struct json *j);

/* Single values, without a writer. */

/* A string of any bytes: those that are not UTF-8 become the text \xHH, so the result is always valid. */
void json_string(struct sbuf *out, const char *s, size_t len);
/* The same so that no other bytes give the same string: a backslash before xHH becomes \x5c. */
void json_exact_string(struct sbuf *out, const char *s, size_t len);
/* A number. One that a double cannot hold exactly becomes a string. */
void json_int(struct sbuf *out, u64 v, bool is_signed);
