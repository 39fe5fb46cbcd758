/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * loader FILE NAME: loads and attaches the program NAME of a BPF object file, or NAME_enter and NAME_exit. It reads the records of
 * the ring and drops them, until a signal ends it: no figure that it is for includes the reader.
 */
#include <bpf/libbpf.h>
#include <string.h>

static int drop(void *ctx, void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return 0;
}

static int is_wanted(const char *prog, const char *name)
{
	const char *rest = strncmp(prog, name, strlen(name)) ? "no" : prog + strlen(name);

	return !*rest || !strcmp(rest, "_enter") || !strcmp(rest, "_exit");
}

int main(int argc, char **argv)
{
	struct ring_buffer *ring;
	struct bpf_program *prog;
	struct bpf_object *object;

	object = argc == 3 ? bpf_object__open_file(argv[1], NULL) : NULL;
	if (!object)
		return 1;
	bpf_object__for_each_program(prog, object)
		bpf_program__set_autoload(prog, is_wanted(bpf_program__name(prog), argv[2]));
	if (bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(prog, object) {
		if (bpf_program__autoload(prog) && !bpf_program__attach(prog))
			return 1;
	}
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "ring"), drop, NULL, NULL);
	while (ring)
		ring_buffer__poll(ring, -1); /* fails with EINTR when the process was stopped */
	return 1;
}
