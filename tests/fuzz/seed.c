/* SPDX-License-Identifier: GPL-2.0-only */
/* The seed of fuzz_elf and fuzz_dwarf: a little of everything that these read. tests/fuzz/run compiles it as a library. */
struct seed {
	int number;
	char name[8];
	union {
		unsigned bits : 3;
		struct seed *next;
	};
};
enum colour { RED, GREEN = 7 };
typedef enum colour colour_t;

static inline int inner(struct seed *s, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += s->name[i & 7];
	return sum;
}

int seed(struct seed *s, colour_t c, long n)
{
	int a = inner(s, (int)n);

	/* A note of a static probe, as <sys/sdt.h> writes it. */
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b\n.8byte 0\n.8byte 0\n"
			 ".asciz \"fuzz\"\n.asciz \"seed\"\n.asciz \"-4@%%eax 8@8(%%rsp) 8@$1\"\n"
			 "994: .balign 4\n.popsection\n" ::
				 : "memory");
	return a + (c == GREEN ? inner(s->next, 3) : 0);
}
