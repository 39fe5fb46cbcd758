/* SPDX-License-Identifier: GPL-2.0-only */
#include "kern/types.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kern/sys.h"

#define BTF_DIR "/sys/kernel/btf"

/* Asks for all bytes at once: where the file cannot be mapped it gives a page a read, which takes three times as long. */
static int open_by_id(struct btfraw *raw)
{
	char name[16] = "";
	struct bpf_btf_info info = { .name = (u64)(uintptr_t)name, .name_len = sizeof(name) };
	int fd = kern_fd_by_id(BPF_BTF_GET_FD_BY_ID, 1), err; /* the kernel's own is the first to exist */
	u32 len = sizeof(info);
	void *data;

	if (fd < 0)
		return fd;
	err = kern_obj_info(fd, &info, &len);
	if (!err && (!info.kernel_btf || !str_eq(name, "vmlinux")))
		err = -ENOENT;
	if (!err) {
		data = mmap(NULL, info.btf_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		info = (struct bpf_btf_info){ .btf = (u64)(uintptr_t)data, .btf_size = info.btf_size };
		len = sizeof(info);
		err = data == MAP_FAILED ? -errno : kern_obj_info(fd, &info, &len);
		if (!err)
			err = btfraw_init(raw, data, info.btf_size, true, NULL);
		if (err && data != MAP_FAILED)
			munmap(data, info.btf_size);
	}
	close(fd);
	return err;
}

static void each_module(void (*fn)(void *arg, const char *name), void *arg)
{
	DIR *dir = opendir(BTF_DIR);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (*e->d_name != '.' && !str_eq(e->d_name, "vmlinux"))
			fn(arg, e->d_name);
	if (dir)
		closedir(dir);
}

static int open_module(struct btfraw *raw, const char *name, struct btfraw *base)
{
	char *path = xasprintf(BTF_DIR "/%s", name);
	int err = btfraw_open(raw, path, base);

	free(path);
	return err;
}

static const struct btf_modules modules = { each_module, open_module };

int kern_types_look(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	u16 magic = 0;

	if (fd < 0)
		return -errno;
	if (read(fd, &magic, sizeof(magic)) < 0)
		err = -errno;
	close(fd);
	return err ? err : magic == BTF_MAGIC ? 0 : -EINVAL;
}

struct type_source *kern_types(void)
{
	static struct type_source *kernel;
	static bool tried;
	const char *path;
	struct btfraw raw;
	int err;

	if (tried)
		return kernel;
	tried = true;
	path = getenv("SONDE_BTF");
	if (!path || !*path)
		path = getenv("BPFTRACE_BTF");
	if (path && *path)
		kernel = btf_open_file(path, &err);
	else if (!btfraw_map(&raw, BTF_DIR "/vmlinux") || !open_by_id(&raw) || !btfraw_open(&raw, BTF_DIR "/vmlinux", NULL))
		kernel = btf_open_kernel(raw, &modules);
	return kernel;
}

bool kern_btf_func(const char *module, const char *name, struct btf_func *out)
{
	struct type_source *src = kern_types();

	return src && btf_find_func(src, module, name, out);
}

u32 kern_btf_find_id(const char *name, enum btf_kind kind)
{
	struct type_source *src = kern_types();

	return src ? btf_find_id(src, name, kind, NULL) : 0;
}

int kern_btf_module_fd(const char *module)
{
	u32 id = 0;
	int err, fd;

	while (!(err = kern_next_id(BPF_BTF_GET_NEXT_ID, id, &id))) {
		char name[64] = "";
		struct bpf_btf_info info = { .name = (u64)(uintptr_t)name, .name_len = sizeof(name) };
		u32 len = sizeof(info);

		fd = kern_fd_by_id(BPF_BTF_GET_FD_BY_ID, id);
		if (fd == -ENOENT)
			continue; /* gone in between */
		if (fd < 0)
			return fd;
		if (!kern_obj_info(fd, &info, &len) && info.kernel_btf && str_eq(name, module))
			return fd;
		close(fd);
	}
	return err;
}
