/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/progs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "kern/sys.h"
#include "types/btf.h"

int kern_next_prog(u32 id, u32 *next)
{
	return kern_next_id(BPF_PROG_GET_NEXT_ID, id, next);
}

/* The BTF that a program was loaded with; NULL if it has none. */
static struct type_source *prog_types(u32 btf_id)
{
	int fd = btf_id ? kern_fd_by_id(BPF_BTF_GET_FD_BY_ID, btf_id) : -ENOENT, err = fd;
	struct bpf_btf_info info = {};
	struct type_source *src = NULL;
	u32 len = sizeof(info);
	void *data = NULL;

	if (fd < 0)
		return NULL;
	err = kern_obj_info(fd, &info, &len);
	if (!err && !info.kernel_btf) {
		data = xzalloc(info.btf_size);
		info = (struct bpf_btf_info){ .btf = (u64)(uintptr_t)data, .btf_size = info.btf_size };
		len = sizeof(info);
		if (!kern_obj_info(fd, &info, &len))
			src = btf_open_mem(data, info.btf_size, &err);
	}
	free(data);
	close(fd);
	return src;
}

struct search {
	void (*fn)(void *arg, const char *name, u32 id);
	void *arg;
	const struct {
		u32 insn_off, type_id;
	} * infos; /* where functions begin */
	u32 info_cnt;
};

/* The BTF may have functions that are not in the code. */
static bool take_func(void *arg, const char *module, const char *name, u32 id)
{
	struct search *s = arg;
	bool is_code = false;

	(void)module;
	for (u32 i = 0; i < s->info_cnt; i++)
		is_code |= s->infos[i].type_id == id;
	if (is_code)
		s->fn(s->arg, name, id);
	return true;
}

void kern_each_prog_func(u32 prog, void (*fn)(void *arg, const char *name, u32 id), void *arg)
{
	struct search s = { .fn = fn, .arg = arg };
	int fd = kern_fd_by_id(BPF_PROG_GET_FD_BY_ID, prog);
	struct bpf_prog_info info = {};
	u32 len = sizeof(info), cnt;
	struct type_source *src;
	void *infos = NULL;

	if (fd < 0)
		return;
	if (!kern_obj_info(fd, &info, &len) && info.nr_func_info && info.func_info_rec_size == 8 &&
	    (src = prog_types(info.btf_id))) {
		cnt = info.nr_func_info;
		infos = xzalloc(cnt * 8);
		info = (struct bpf_prog_info){ .nr_func_info = cnt, .func_info_rec_size = 8, .func_info = (u64)(uintptr_t)infos };
		len = sizeof(info);
		if (!kern_obj_info(fd, &info, &len)) {
			s.infos = infos;
			s.info_cnt = MIN(cnt, info.nr_func_info);
			btf_each(src, BTF_KIND_FUNC, take_func, &s);
		}
		btf_close(src);
	}
	free(infos);
	close(fd);
}
