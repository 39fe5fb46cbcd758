/* SPDX-License-Identifier: GPL-2.0-only */
/* Static probes with arguments in every form that compilers write.
 *
 *   usdt             passes each probe once
 *   usdt sem         says whether somebody listens, for each line of input, until its end
 *   usdt loop        passes the probe loop:tick until it is ended
 *
 * Built as a fixed program, a position-independent one, and (USDT_LIB) with the probes in a library. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sdt.h"

#define KEEP __attribute__((noinline, noclone, used))

void shapes(void), in_library(int a, long b);

#ifndef USDT_MAIN_ONLY
/* -8: -2; 0: 0x1122334455667788; 8: 3 bytes to read signed; 16, 24, 32, …: counted */
__asm__(".data\n"
	".balign 8\n"
	"\t.8byte -2\n"
	".globl shape_data\n"
	".hidden shape_data\n"
	".type shape_data, @object\n"
	"shape_data:\n"
	"\t.8byte 0x1122334455667788, 0x80fffefdfcfbfaf9, 16, 24, 32, 40, 48\n"
	".size shape_data, 56\n"
	".text\n");

#define SHAPE(nr, args) SDT_NOTE("shape", "s" #nr, "0", args)

/* The registers have these values at every probe:
 *   rax 0x8182838485868788  rbx shape_data  rcx 2  rdx 0x7172737475767778  rsi 0xff  rdi -1  rbp shape_data+24
 *   r8 8  r9 0x99  r10 0xaaaa  r11 0xbbbbbbbb  r12 shape_data  r13 0x1300  r14 -14  r15 0xf5 */
__asm__(".globl shapes\n"
	".type shapes, @function\n"
	"shapes:\n"
	"\tpush %rbp\n"
	"\tpush %rbx\n"
	"\tpush %r12\n"
	"\tpush %r13\n"
	"\tpush %r14\n"
	"\tpush %r15\n"
	"\tpush $4242\n"
	"\tmovabs $0x8182838485868788, %rax\n"
	"\tlea shape_data(%rip), %rbx\n"
	"\tmov $2, %ecx\n"
	"\tmovabs $0x7172737475767778, %rdx\n"
	"\tmov $0xff, %esi\n"
	"\tmov $-1, %rdi\n"
	"\tlea 24(%rbx), %rbp\n"
	"\tmov $8, %r8d\n"
	"\tmov $0x99, %r9d\n"
	"\tmov $0xaaaa, %r10d\n"
	"\tmov $0xbbbbbbbb, %r11d\n"
	"\tmov %rbx, %r12\n"
	"\tmov $0x1300, %r13d\n"
	"\tmov $-14, %r14\n"
	"\tmov $0xf5, %r15d\n"
	/* registers of each size */
	SHAPE(01, "8@%rax") SHAPE(02, "-8@%rax") SHAPE(03, "4@%eax") SHAPE(04, "-4@%eax") SHAPE(05, "2@%ax") SHAPE(06, "-2@%ax")
		SHAPE(07, "1@%al") SHAPE(08, "-1@%al") SHAPE(09, "1@%ah") SHAPE(10, "-1@%ah") SHAPE(11, "-4@%edx")
			SHAPE(12, "1@%sil") SHAPE(13, "-1@%sil") SHAPE(14, "-4@%edi") SHAPE(15, "8@%r8") SHAPE(16, "-1@%r9b")
				SHAPE(17, "-2@%r10w") SHAPE(18, "-4@%r11d") SHAPE(19, "-8@%r14") SHAPE(20, "-1@%r15d")
	/* constants */
	SHAPE(21, "8@$0") SHAPE(22, "-4@$-1") SHAPE(23, "4@$-1") SHAPE(24, "-1@$255") SHAPE(25, "-8@$-9223372036854775808")
		SHAPE(26, "8@$0x7fffffffffffffff")
	/* memory */
	SHAPE(27, "8@(%rbx)") SHAPE(28, "-8@-8(%rbx)") SHAPE(29, "4@(%rbx)") SHAPE(30, "-1@8(%rbx)") SHAPE(31, "-2@8(%rbx)")
		SHAPE(32, "-4@8(%rbx)") SHAPE(33, "8@(%rbx,%rcx,8)") SHAPE(34, "8@16(%rbx,%rcx,4)") SHAPE(35, "4@-8(%rbp, %r8)")
			SHAPE(36, "8@0x10(,%r12,1)") SHAPE(37, "8@(%rsp)") SHAPE(38, "8@shape_data+16(%rip)")
				SHAPE(39, "2@24+shape_data(%rip)") SHAPE(40, "8@shape_data(,%rcx,8)") SHAPE(41, "8@shape_data+40")
					SHAPE(42, "8@shape_data+8(%r8,%rcx,8)")
	/* addresses; what probes have no words for; many and none */
	SHAPE(43, "8@$shape_data+16") SDT_NOTE("odd", "floats", "0", "8f@%xmm0 4f@-4(%rbp) -4@%edi")
		SDT_NOTE("odd", "segment", "0", "-4@%fs:0xfffffffffffffffc") SDT_NOTE("odd", "wide", "0", "16@(%rbx)")
			SDT_NOTE("odd", "nonsense", "0", "8@what?") SDT_NOTE("odd", "nowhere", "0", "8@no_such_symbol(%rip)")
				SDT_NOTE("odd", "twelve", "0",
					 "1@$1 2@$2 4@$3 8@$4 -1@$-5 -2@$-6 -4@$-7 -8@$-8 8@%r8 8@16(%rbx) 1@%cl 8@$12")
					SDT_NOTE("odd", "none", "0", "") "\tpop %rax\n"
									 "\tpop %r15\n"
									 "\tpop %r14\n"
									 "\tpop %r13\n"
									 "\tpop %r12\n"
									 "\tpop %rbx\n"
									 "\tpop %rbp\n"
									 "\tret\n"
									 ".size shapes, . - shapes\n");

/* One probe at three places, with its argument elsewhere at each. */
KEEP void in_library(int a, long b)
{
	static volatile int counter = 30;

	SDT1("many", "places", "0", "-4", a);
	SDT1("many", "places", "0", "-4", 20);
	SDT1("many", "places", "0", "-4", counter);
	SDT3("many", "three", "0", "-4", a, "8", b, "4", counter);
}
#endif

#ifndef USDT_LIB
__attribute__((section(".probes"), used)) volatile unsigned short guarded_semaphore;

KEEP void guarded(int n)
{
	/* What is not wanted is not computed. */
	if (guarded_semaphore)
		SDT1("guard", "entry", "guarded_semaphore", "-4", n * 2);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char line[16];

	if (!strcmp(what, "sem")) {
		setlinebuf(stdout);
		while (fgets(line, sizeof(line), stdin))
			printf("%d\n", guarded_semaphore);
		return 0;
	}
	for (int n = 0; !strcmp(what, "loop"); n++) {
		SDT1("loop", "tick", "0", "-4", n);
		guarded(n);
		usleep(1000);
	}
	shapes();
	in_library(10, 11);
	guarded(21);
	guarded(22);
	return 0;
}
#endif
