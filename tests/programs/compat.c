/* SPDX-License-Identifier: GPL-2.0-only */
/* compat TIMES: makes the system call of one number in four ways, so often each: by the instruction of 64-bit programs; by the
 * 32-bit interrupt from 64-bit code; by the same from 32-bit code; and from there with the address behind the call as second
 * argument. The number is swapoff of 64-bit programs, which nobody calls for nothing, and poll of 32-bit ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR SYS_swapoff

/* poll(NULL, 0, 0) */
static int interrupt(void)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(NR), "b"(0), "c"(0), "d"(0) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

/* The same from a code segment of 32 bits, there and back by far jumps: a far call would need a stack below 4 GiB, and QEMU's
 * emulation writes to it as if it were the kernel. Code must be there, too, as this program is (it is not position-independent).
 */
static int interrupt_in_32bit(unsigned char *low, unsigned long second)
{
	static const unsigned char code[] = { 0xcd, 0x80, 0xea, 0, 0, 0, 0, 0x33, 0 }; /* int $0x80; ljmp $0x33, $back */
	struct __attribute__((packed)) {
		unsigned addr;
		unsigned short segment;
	} to = { (unsigned long)low, 0x23 };
	long result;

	memcpy(low, code, sizeof(code));
	/* The kernel returns to 32-bit code with half of the stack pointer. */
	__asm__ volatile("mov %%rsp, %%r13; lea 1f(%%rip), %%r12; mov %%r12d, 3(%[low]); ljmp *%[to]; 1: mov %%r13, %%rsp"
			 : "=a"(result)
			 : "a"(NR), "b"(0), "c"(second), "d"(0), [low] "r"(low), [to] "m"(to)
			 : "memory", "r8", "r9", "r10", "r11", "r12", "r13");
	return result;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1, ok = 0;
	unsigned char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		return 1;
	for (int i = 0; i < times; i++)
		syscall(SYS_swapoff, NULL);
	for (int i = 0; i < times; i++)
		/* 2: the length of the interrupt. That many files cannot be polled. */
		ok += !interrupt() + !interrupt_in_32bit(low, 0) + (interrupt_in_32bit(low, (unsigned long)low + 2) == -EINVAL);
	printf("%d 32-bit calls\n", ok);
	return 0;
}
