/* SPDX-License-Identifier: GPL-2.0-only */
#include "sym/gopclntab.h"

#define IS_ASM 4 /* a bit of a record's flags */

/* The layout of a format. Words of the header have 8 bytes, counted from byte 8 on. */
struct go_form {
	u32 magic;
	u32 text, names, list; /* words of the header; 0: there is none */
	u32 entry_sz;          /* of an address and of an offset, in the list */
	u32 name_at;           /* in a record: offset of the name, 4 bytes … */
	u32 flags_at;          /* … and flags, 1 byte; 0: none */
};

static const struct go_form forms[] = {
	{ 0xfffffffb, 0, 0, 0, 8, 8, 0 },  /* 1.2: the list follows the header, and everything is counted from the start */
	{ 0xfffffffa, 0, 2, 6, 8, 8, 41 }, /* 1.16 */
	{ 0xfffffff0, 2, 3, 7, 4, 4, 37 }, /* 1.18 */
	{ 0xfffffff1, 2, 3, 7, 4, 4, 41 }, /* 1.20 */
};

/* A number of the given size; 0 if it is not in the data. */
static u64 number(struct bytes b, u64 off, u32 size)
{
	u64 v = 0;

	if (off <= b.len && b.len - off >= size)
		memcpy(&v, b.at + off, size);
	return v;
}

static u64 header_word(struct bytes b, u32 i)
{
	return number(b, 8 + 8 * (u64)i, 8);
}

/* In position-independent programs the dynamic linker fills in addresses. Returns the value that it writes to addr, 0 if none. */
static u64 relocated(struct objfile *o, u64 addr)
{
	for (u32 i = 1; i < o->sh_cnt; i++) {
		struct bytes b = o->sh[i].sh_type == SHT_RELA ? objfile_section(o, i) : (struct bytes){};
		Elf64_Rela r;

		for (u64 at = 0; b.len - at >= sizeof(r) && at < b.len; at += sizeof(r)) {
			memcpy(&r, b.at + at, sizeof(r));
			if (r.r_offset == addr)
				return (u64)r.r_addend;
		}
	}
	return 0;
}

static u32 find_section(const struct objfile *o)
{
	/* .data.rel.ro.gopclntab in position-independent programs */
	for (u32 i = 1; i < o->sh_cnt; i++)
		if (strstr(objfile_section_name(o, i), ".gopclntab"))
			return i;
	return 0;
}

bool go_table_open(struct objfile *o, struct go_table *out)
{
	u32 section = find_section(o);
	struct bytes b = section ? objfile_section(o, section) : (struct bytes){};
	u64 cnt, names;

	*out = (struct go_table){ .data = b };
	for (u32 i = 0; i < ARRAY_CNT(forms); i++)
		if (b.len > 16 && number(b, 0, 4) == forms[i].magic && b.at[7] == 8)
			out->form = &forms[i];
	if (!out->form)
		return false;
	cnt = header_word(b, 0);
	out->list = out->form->list ? header_word(b, out->form->list) : 16;
	out->records = out->form->list ? out->list : 0;
	names = out->form->names ? header_word(b, out->form->names) : 0;
	if (names > b.len || out->list > b.len || !cnt || cnt > (b.len - out->list) / (2 * out->form->entry_sz))
		return false;
	out->names = (struct bytes){ b.at + names, b.len - names };
	out->cnt = (u32)cnt;
	if (out->form->text) {
		out->text = header_word(b, out->form->text);
		if (!out->text)
			out->text = relocated(o, o->sh[section].sh_addr + 8 + 8 * out->form->text);
		if (!out->text)
			return false;
	}
	/* The list ends in the address where the last function ends. */
	out->lo = out->text + number(b, out->list, out->form->entry_sz);
	out->hi = out->text + number(b, out->list + cnt * 2 * out->form->entry_sz, out->form->entry_sz);
	return out->lo < out->hi;
}

bool go_table_func(const struct go_table *t, u32 i, struct go_func *out)
{
	u32 n = t->form->entry_sz;
	u64 at = t->list + (u64)i * 2 * n, record = t->records + number(t->data, at + n, n), next;

	*out = (struct go_func){ .addr = t->text + number(t->data, at, n) };
	next = t->text + number(t->data, at + 2 * n, n);
	out->name_off = (u32)number(t->data, record + t->form->name_at, 4);
	out->name = bytes_str(t->names, out->name_off);
	out->is_asm = t->form->flags_at && number(t->data, record + t->form->flags_at, 1) & IS_ASM;
	out->is_special = t->form->flags_at && number(t->data, record + t->form->flags_at - 1, 1);
	if (!out->name || !*out->name || next <= out->addr || out->addr < t->lo)
		return false;
	out->size = next - out->addr;
	return true;
}
