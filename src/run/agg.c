#include "run/agg.h"

u32 agg_cpu_size(const struct type *t)
{
	switch (t->kind) {
	case T_COUNT: case T_SUM:
		return 8;
	case T_MIN: case T_MAX: case T_AVG: case T_STATS:
		return 16;
	case T_HIST: case T_LHIST:
		return 8 * t->hist.bucket_cnt;
	case T_TSERIES:
		return t->size;
	case T_ERROR: case T_NONE: case T_VOID: case T_BOOL: case T_INT: case T_ENUM: case T_POINTER: case T_STRING:
	case T_BUFFER: case T_ARRAY: case T_STRUCT: case T_TUPLE: case T_SITE: case T_KSYM: case T_USYM: case T_TIMESTAMP:
	case T_INET: case T_MAC: case T_USERNAME: case T_CGROUP_PATH:
	case T_KSTACK: case T_USTACK:
	case T_KIND_CNT:
		break;
	}
	BUG("not an aggregation: %d", t->kind);
}

u32 agg_total_size(const struct type *t)
{
	return t->kind == T_MIN || t->kind == T_MAX ? 8 : agg_cpu_size(t);
}

/* The programs of other CPUs go on counting while we read: each number is read whole. */
static u64 read_u64(const u8 *p)
{
	u64 v;

	if (((uintptr_t)p & 7) == 0)
		return __atomic_load_n((const u64 *)p, __ATOMIC_RELAXED);
	memcpy(&v, p, 8);
	return v;
}

static bool sum_rank(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	u64 best = 0, v;
	bool any = false;

	for (u32 cpu = 0; cpu < cpu_cnt; cpu++) {
		const u8 *p = cpu0 + (size_t)cpu * stride;
		/* is_set first: the rank that goes with it was there before. */
		bool is_set = read_u64(p + 8) != 0;
		u64 rank;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		rank = read_u64(p);
		if (!is_set)
			continue;
		if (!any || rank > best)
			best = rank;
		any = true;
	}
	v = any ? agg_unrank(t->kind == T_MIN, t->is_signed, best) : 0;
	memcpy(out, &v, 8);
	return any;
}

static struct series_bucket read_bucket(const u8 *p)
{
	return (struct series_bucket){ read_u64(p), read_u64(p + 8), read_u64(p + 16) };
}

/* One interval: of the CPUs' buckets those with the newest epoch count. */
static struct series_bucket sum_bucket(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt)
{
	struct series_bucket all = {};

	for (u32 cpu = 0; cpu < cpu_cnt; cpu++) {
		struct series_bucket b = read_bucket(cpu0 + (size_t)cpu * stride);

		if (!b.epoch || b.epoch < all.epoch)
			continue;
		if (b.epoch > all.epoch) {
			all = b;
			continue;
		}
		switch (t->fold) {
		case FOLD_LAST:
			if (b.meta > all.meta)
				all = b;
			break;
		case FOLD_SUM: case FOLD_AVG:
			all.value += b.value;
			all.meta += b.meta;
			break;
		case FOLD_MIN: case FOLD_MAX:
			all.value = MAX(all.value, b.value);
			break;
		}
	}
	if (t->fold == FOLD_AVG && all.meta)
		all.value = t->is_signed ? (u64)((s64)all.value / (s64)all.meta) : all.value / all.meta;
	else if ((t->fold == FOLD_MIN || t->fold == FOLD_MAX) && all.epoch)
		all.value = agg_unrank(t->fold == FOLD_MIN, t->is_signed, all.value);
	return all;
}

static bool sum_series(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	bool any = false;

	for (u32 i = 0; i < t->cnt; i++) {
		struct series_bucket b = sum_bucket(t, cpu0 + i * sizeof(b), stride, cpu_cnt);

		any |= b.epoch != 0;
		memcpy(out + i * sizeof(b), &b, sizeof(b));
	}
	return any;
}

void agg_add(const struct type *t, u8 *to, const u8 *value)
{
	if (t->kind == T_MIN || t->kind == T_MAX) {
		/* is_set first, as above */
		u64 is_set = read_u64(value + 8), rank;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		rank = read_u64(value);
		if (is_set && (!read_u64(to + 8) || rank > read_u64(to))) {
			memcpy(to, &rank, 8);
			memcpy(to + 8, &is_set, 8);
		}
		return;
	}
	for (u32 i = 0; i < agg_cpu_size(t); i += 8) {
		u64 sum = read_u64(to + i) + read_u64(value + i);

		memcpy(to + i, &sum, 8);
	}
}

bool agg_sum(const struct type *t, const u8 *cpu0, u32 stride, u32 cpu_cnt, u8 *out)
{
	bool any = false;
	u32 n;

	if (t->kind == T_MIN || t->kind == T_MAX)
		return sum_rank(t, cpu0, stride, cpu_cnt, out);
	if (t->kind == T_TSERIES)
		return sum_series(t, cpu0, stride, cpu_cnt, out);
	n = agg_cpu_size(t) / 8;
	/* Number by number, so that out may be cpu0. */
	for (u32 i = 0; i < n; i++) {
		u64 sum = 0;

		for (u32 cpu = 0; cpu < cpu_cnt; cpu++)
			sum += read_u64(cpu0 + (size_t)cpu * stride + 8 * (size_t)i);
		memcpy(out + 8 * (size_t)i, &sum, 8);
		if (sum && (i == 1 || (t->kind != T_AVG && t->kind != T_STATS)))
			any = true; /* avg, stats: the count says it, the total may be 0 */
	}
	return any;
}
