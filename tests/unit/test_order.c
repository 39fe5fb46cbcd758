/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory model (image/shared.h): which code orders its accesses, on machines that do it by themselves and on those that do
 * not; and that it computes the same. */
#include "check.h"
#include "bpf/build.h"
#include "image/feature.h"
#include "image/shared.h"
#include "image/uapi.h"
#include "lang/compile.h"
#include "run/mapread.h"
#include "store/scalar.h"
#include "vm/vm.h"

static struct arena arena;
static struct diag diag;
static struct target target = { .ncpus = 2, .is_check = true, .features = KF_BIT(STACK_IDS) };
static struct compile c;
static struct object *obj;

static bool begin(const char *script, bool is_weak, bool warns_more)
{
	struct sbuf why = {};

	arena_init(&arena);
	diag_init(&diag, &arena);
	target.is_weakly_ordered = is_weak;
	c = (struct compile){
		.arena = &arena, .diag = &diag, .target = &target, .config = config_defaults, .warns_more = warns_more
	};
	obj = NULL;
	if (lang_parse(&c, diag_add_source(&diag, "stdin", script, strlen(script))) && lang_config(&c) && lang_expand(&c) &&
	    lang_check(&c) && image_build(&c))
		obj = vm_object_load(c.image, &diag);
	diag_print(&diag, DIAG_ERROR, false, &why);
	CHECK(obj, "%s: %s", script, sbuf_str(&why));
	sbuf_release(&why);
	if (obj)
		stores_open(obj);
	return obj;
}

static void end(void)
{
	if (obj) {
		stores_close(obj);
		obj->ops->free(obj);
	}
	arena_release(&arena);
}

/* Fetching additions: the only ones that these scripts have are there for the order. */
static u32 fences(void)
{
	u32 cnt = 0;

	vec_for(p, &c.image->progs)
		for (u32 i = 0; i < p->insn_cnt; i++)
			cnt += p->insns[i].code == (BPF_STX | BPF_ATOMIC | BPF_DW) && p->insns[i].imm == (BPF_ADD | BPF_FETCH);
	return cnt;
}

static void test_fences(void)
{
	static const struct {
		const char *script;
		u32 tso, weak;
		bool warns_more;
	} rows[] = {
		/* A flag publishes a value: scalars, and sums. */
		{ "kprobe:f { @x = nsecs; }", 0, 1 },
		{ "kprobe:f { @x = comm; }", 0, 1 },
		{ "kprobe:f { @x += 2; }", 0, 1 },
		{ "kprobe:f { @x = sum(1); }", 0, 1 },
		{ "kprobe:f { @x = tseries(nsecs, 1s, 5); }", 0, 1 },
		/* One word at a time. */
		{ "kprobe:f { @x = count(); @a = avg(1); @m = max(2); @h = hist(3); @p[probe] = count(); }", 0, 0 },
		/* Cells of a CPU: a small key is in the mark; a larger one is published in order on every machine. */
		{ "kprobe:f { @x[pid] = count(); }", 0, 0 },
		{ "kprobe:f { @x[comm] = count(); }", 1, 1 },
		{ "kprobe:f { @x[kstack] = count(); }", 1, 1 },
		/* Cells of all CPUs: the mark publishes the value, and is acquired; the value is loaded before the cell is
		 * emptied. delete() as a statement counts failures, see below. */
		{ "kprobe:f { @x[tid] = nsecs; } kprobe:g { delete(@x, tid); }", 0, 4 },
		{ "kprobe:f { @x[tid] = nsecs; } kprobe:g { if (@x[tid]) { delete(@x, tid); } }", 0, 5 },
		{ "kprobe:f { @x[tid] = nsecs; } kprobe:g { if (delete(@x, tid)) { print(1); } }", 0, 2 },
		{ "kprobe:f { @x[tid] = nsecs; } kprobe:g { if (has_key(@x, tid)) { delete(@x, tid); } }", 0, 5 },
		/* A count publishes the error. */
		{ "kprobe:f { @x[1, 2] = 3; } kprobe:g { $v = @x[5, 5]; print($v); }", 0, 1, true },
	};

	for (u32 i = 0; i < ARRAY_CNT(rows); i++)
		for (u32 is_weak = 0; is_weak < 2; is_weak++) {
			u32 want = is_weak ? rows[i].weak : rows[i].tso;

			if (begin(rows[i].script, is_weak, rows[i].warns_more))
				CHECK(fences() == want, "%s: %u, not %u", rows[i].script, fences(), want);
			end();
		}
}

/* What the program leaves: how many entries, and the sum of their numbers. */
static u64 result_of(const char *script, bool is_weak)
{
	u64 result = 0, v;

	if (begin(script, is_weak, false)) {
		CHECK(!obj->ops->prog_run(obj, 0, NULL));
		vec_for(m, &c.image->script_maps) {
			struct map_snap s;

			CHECK(!map_snap_read(&s, obj, m, 0, 0));
			for (u32 i = 0; i < s.view.cnt; i++) {
				memcpy(&v, s.view.entries[i].val, 8);
				result = result * 31 + v + s.view.cnt;
			}
			map_snap_release(&s);
		}
	}
	end();
	return result;
}

static void test_results(void)
{
	static const char *const scripts[] = {
		"begin { @x = 5; @y += 3; @z = sum(4); @z = sum(-4); }",
		("begin { for ($i : 0..9000) { @s[(uint32)$i] = $i * 3 + 1; } for ($i : 0..9000) { if ($i % 2) { delete(@s, (uint32)$i); } }"
		 " for ($i : 0..9000) { @sum += @s[(uint32)$i]; if (has_key(@s, (uint32)$i) && delete(@s, (uint32)$i)) { @had++; } } }"),
		"begin { for ($i : 0..3000) { @c[(uint32)$i % 700] = count(); @l[$i % 50, $i % 7] = sum($i); } }",
	};

	for (u32 i = 0; i < ARRAY_CNT(scripts); i++) {
		u64 tso = result_of(scripts[i], false), weak = result_of(scripts[i], true);

		CHECK(tso && tso == weak, "%s", scripts[i]);
	}
}

/* An update of min() or max() changes one word of the share, so there is nothing to order. */
static void test_one_word(void)
{
	static const char *const scripts[] = { "begin { @ = max(7); }", "begin { @ = max((uint64)0); }", "begin { @ = min(7); }",
					       "begin { @ = min(0); }" };

	for (u32 i = 0; i < ARRAY_CNT(scripts); i++) {
		if (begin(scripts[i], false, false)) {
			const struct script_map *m = &c.image->script_maps.at[0];
			const u8 *data = obj->ops->map_mem(obj, MAP_IDX_DATA);
			u32 cnt = 0;

			CHECK(!obj->ops->prog_run(obj, 0, NULL));
			for (u32 k = 0; k < 2 * c.image->data.cpu_cnt; k++)
				cnt += shared_word(data + c.image->data.shared_sz + k / 2 * c.image->data.cpu_sz +
						   scalar_layer(m->top)->data_off + k % 2 * 8) != 0;
			CHECK(m->top->store == &store_shares && cnt == 1, "%s: %u words", scripts[i], cnt);
		}
		end();
	}
}

static void test_copy(void)
{
	_Alignas(8) u8 from[40], to[40], copy[40];

	for (u32 off = 0; off < 8; off++)
		for (u32 size = 0; size <= 24; size++) {
			for (u32 i = 0; i < sizeof(from); i++)
				from[i] = (u8)(i + 1);
			memset(to, 0, sizeof(to));
			shared_copy(to, from + off, size);
			CHECK(!memcmp(to, from + off, size) && !to[size]);
			memcpy(copy, to, sizeof(copy));
			memset(to, 0, sizeof(to));
			shared_take(to, from + off, size);
			CHECK(!memcmp(to, copy, sizeof(copy)));
			for (u32 i = 0; i < sizeof(from); i++)
				if (from[i] != (i >= off && i < off + size ? 0 : i + 1))
					CHECK(false, "byte %u after %u at %u", i, size, off);
		}
}

int main(void)
{
	test_fences();
	test_results();
	test_one_word();
	test_copy();
	return check_end();
}
