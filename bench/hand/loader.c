/*
 * loader FILE.bpf.o: loads and attaches the programs of a file that was compiled by hand, and prints the records of its ring as a tracer
 * would, until SIGINT: a number and a name, or a string alone, by their size.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int sig)
{
	(void)sig;
	is_over = 1;
}

static int show(void *ctx, void *data, size_t size)
{
	(void)ctx;
	if (size > 64)
		printf("%s\n", (char *)data);
	else
		printf("%u %s\n", *(unsigned *)data, (char *)data + sizeof(unsigned));
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(int argc, char **argv)
{
	struct ring_buffer *ring = NULL;
	struct bpf_program *prog;
	struct bpf_object *object;
	struct bpf_map *map;

	libbpf_set_print(quiet);
	signal(SIGINT, end);
	object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(prog, object) {
		if (!bpf_program__attach(prog))
			return 1;
	}
	map = bpf_object__find_map_by_name(object, "ring");
	if (map)
		ring = ring_buffer__new(bpf_map__fd(map), show, NULL, NULL);
	while (!is_over) {
		if (ring)
			ring_buffer__poll(ring, 100);
		else
			pause();
	}
	return 0;
}
