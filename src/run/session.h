/* SPDX-License-Identifier: GPL-2.0-only */
/* A running script: the loaded object, where output goes, and what has to happen when events arrive. */
#pragma once

#include "image/image.h"
#include "out/sink.h"
#include "image/object.h"

struct attach_ctx;
struct child;
struct commands;
struct symbols;
struct unwind;

struct session {
	const struct image *image;
	struct diag *diag; /* where the script's lines are, and what attaching reports */
	struct object *obj;
	struct out out;
	bool exiting; /* exit() was seen, or a signal, or the child ended */
	int exit_code;
	bool is_verbose, is_quiet, is_dry_run;
	u64 lost_reported;         /* how many lost events were shown already */
	struct sbuf text;          /* scratch of event handlers */
	struct sbuf whole;         /* scratch of session_field_whole() */
	bool exit_called;          /* exit() was seen: exit_code is decided */
	bool ignoring;             /* later records are of no interest, until `end` runs */
	u64 bad_records;           /* records that were not what their layout says */
	u64 last_lost_ns;          /* when lost events were shown */
	bool flushes;              /* -B line: output is flushed after each batch of events */
	struct attach_ctx *attach; /* for what is attached while tracing; NULL: nothing is */
	struct symbols *symbols;   /* names of user addresses; NULL: the script has none */
	struct unwind *unwind;     /* tables of dw_ustack; NULL: the script has none */
	struct commands *commands; /* of system() and exec(); NULL: there were none yet (run/command.h) */
	bool *faults_told;         /* for each of the image's faults */
	struct lossy_map {         /* for each map: */
		bool is_told;      /* that updates were lost, while tracing */
		bool is_known;     /* why, … */
		bool is_full;      /* … which is this, or that keys came too fast */
	} * lossy;
	struct data_head *head; /* shared with the programs; NULL: the object has none */
	struct account account; /* what got lost */
	struct shown shown;     /* what the values that were shown last had to leave out: losses_shown() */
};

/* The whole run, from begin to the printed maps. Returns the exit status. What goes wrong on the way is printed, also what was
 * added to the diag since the call; older messages are the caller's to print. The child is resumed here and
 * ended, but not freed. */
struct session_opts {
	bool verbose, quiet, dry_run, use_vm;
	const char *output_path; /* -o */
	const char *format;      /* -f; NULL: text */
	const char *buffering;   /* -B: line, full, none; NULL: line */
	const char *cmd;         /* -c */
	u32 pid;                 /* -p */
	struct child *child;     /* started, waiting; NULL */
	const u32 *unwind_pids;  /* --dwarf-pid */
	u32 unwind_pid_cnt;
	bool colour;          /* messages on stderr are coloured */
	bool raw_strings;     /* control characters in strings and names also reach a terminal */
	bool may_hasten;      /* see struct attach_ctx */
	bool cost;            /* --cost: what each probe took is shown at the end */
	u32 max_cpu_ppm;      /* --max-cpu, in millionths of the time of all CPUs; 0: no limit */
	bool keep_privileges; /* --keep-privileges: none are given up */
	const char *user;     /* --user: whom the command of -c runs as; NULL: as we do */
	bool strict;          /* what was lost makes the exit status EXIT_LOSSES */
	bool no_warnings;     /* no run-time warnings; what was lost is told nevertheless */
	struct naming naming; /* how addresses are named: ksym, usym, self; the rest is filled in */
};
enum { EXIT_LOSSES = 3 };
int session_run(const struct image *img, struct diag *d, const struct session_opts *opts);
/* The same with an object that is loaded already, which stays the caller's. Providers attach what ops->prog_fd() gives. */
int session_run_object(struct object *obj, struct diag *d, const struct session_opts *opts);

/* Has the function act on its record: fn/all.c, which knows the rows. */
void session_event(struct session *s, const struct rec *rec, const u8 *data, u32 len);

/* Sets what the script itself knows: the names of its sites, and its configuration. */
void session_naming(const struct image *img, struct naming *n);

/* For the event() hooks of functions. data is the whole record, its head included, as the offsets of its fields count. */
/* Field i of a record: its type and bytes (variable ones are found in the tail). False if the record is too short. Variable
 * fields hold as many bytes of the value as are in use: a string up to and with its NUL (if there is one), a buffer its length
 * and the bytes that it counts. */
bool session_field(const struct rec *rec, const u8 *data, u32 len, u32 i, const u8 **bytes, u32 *byte_cnt);
/* The same with all bytes that the type has: what was not sent is zero. Valid until the next call. */
bool session_field_whole(struct session *s, const struct rec *rec, const u8 *data, u32 len, u32 i, const u8 **bytes);
/* A scalar field, extended to 64 bits. */
bool session_field_int(const struct rec *rec, const u8 *data, u32 len, u32 i, u64 *v);
/* print(value): field i through the sink. */
void session_print_value(struct session *s, const struct rec *rec, const u8 *data, u32 len, u32 i);
/* Appends the record's printf text. Conversions take the fields in order. */
void session_format(struct session *s, const struct rec *rec, const u8 *data, u32 len, struct sbuf *out);
/* The same for another reader than a terminal: bytes as they are. */
void session_format_raw(struct session *s, const struct rec *rec, const u8 *data, u32 len, struct sbuf *out);
/* print(@m, top, div); 0: neither. reset: what happens to the map in one step with it. */
void session_print_map(struct session *s, const struct script_map *m, enum map_reset reset, s64 top, s64 div);
/* print(@m[k]): the value alone, as it is now. key has the map's key type. */
void session_print_key(struct session *s, const struct script_map *m, const void *key);
/* clear(@m), zero(@m). */
void session_reset_map(struct session *s, const struct script_map *m, enum map_reset reset);
/* Lets go of what is known of processes that have ended and that no map has addresses of. */
void session_forget_processes(struct session *s);
/* exit(code): the first one decides. */
void session_exit(struct session *s, int code);
