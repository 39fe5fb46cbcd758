/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a function of a program that is stored in a ZIP archive, from there, as Android runs libraries.
 *
 *   ziprun make FILE      writes an archive with this program in it, as bin/ziprun, and compressed (in name only) as bin/packed
 *   ziprun offset         prints where zip_leaf is in the archive
 *   ziprun call FILE N    maps the page of the archive that has zip_leaf, and calls it N times */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include <elf.h>

#define HEADER 30
#define NAME "bin/ziprun"
#define PAD 7 /* the extra field: members need not be aligned */

__attribute__((noinline, noclone, used, aligned(16))) static long zip_leaf(long a, long b)
{
	__asm__ volatile("");
	return a + b;
}

static void put(FILE *f, uint64_t v, int n)
{
	for (; n > 0; n--, v >>= 8)
		fputc((int)(v & 0xff), f);
}

static void entry(FILE *f, const char *name, int method, size_t size)
{
	put(f, 0x02014b50, 4), put(f, 20, 2), put(f, 20, 2), put(f, 0, 2), put(f, (uint64_t)method, 2), put(f, 0, 8);
	put(f, size, 4), put(f, size, 4), put(f, strlen(name), 2), put(f, 0, 4), put(f, 0, 8), put(f, 0, 4);
	fputs(name, f);
}

static int make(const char *path)
{
	FILE *self = fopen("/proc/self/exe", "r"), *f = fopen(path, "w");
	size_t size = 0, dir;
	int c;

	if (!self || !f)
		return 1;
	fseek(self, 0, SEEK_END);
	size = (size_t)ftell(self);
	rewind(self);
	put(f, 0x04034b50, 4), put(f, 20, 2), put(f, 0, 2), put(f, 0, 2), put(f, 0, 8), put(f, size, 4), put(f, size, 4);
	put(f, strlen(NAME), 2), put(f, PAD, 2);
	fputs(NAME, f);
	put(f, 0, PAD);
	while ((c = fgetc(self)) != EOF)
		fputc(c, f);
	dir = (size_t)ftell(f);
	entry(f, "bin/packed", 8, size);
	entry(f, NAME, 0, size);
	size = (size_t)ftell(f) - dir;
	put(f, 0x06054b50, 4), put(f, 0, 4), put(f, 2, 2), put(f, 2, 2), put(f, size, 4), put(f, dir, 4), put(f, 9, 2);
	fputs("a comment", f);
	fclose(self);
	return fclose(f) != 0;
}

static uint64_t offset(void)
{
	const Elf64_Phdr *ph = (const Elf64_Phdr *)getauxval(AT_PHDR);
	uint64_t addr = (uint64_t)(uintptr_t)zip_leaf;

	for (uint64_t i = 0; i < getauxval(AT_PHNUM); i++)
		if (ph[i].p_type == PT_LOAD && addr - ph[i].p_vaddr < ph[i].p_filesz)
			return addr - ph[i].p_vaddr + ph[i].p_offset + HEADER + strlen(NAME) + PAD;
	return 0;
}

static int call(const char *path, int times)
{
	uint64_t off = offset();
	int fd = open(path, O_RDONLY);
	long (*leaf)(long, long), sum = 0;
	char *page;

	page = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)(off & ~4095ull));
	if (page == MAP_FAILED)
		return 1;
	leaf = (long (*)(long, long))(uintptr_t)(page + (off & 4095));
	for (int i = 0; i < times; i++)
		sum += leaf(i, 1000);
	printf("%ld\n", sum);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "make"))
		return make(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "offset"))
		return printf("%llu\n", (unsigned long long)offset()) < 0;
	if (argc == 4 && !strcmp(argv[1], "call"))
		return call(argv[2], atoi(argv[3]));
	return 2;
}
