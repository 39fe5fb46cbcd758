/* SPDX-License-Identifier: GPL-2.0-only */
/* A function, a variable and a static probe: what tests/errors/where.py attaches to. */
long counter;
__attribute__((noinline, used)) int work(int number)
{
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"
			 ".balign 4\n.4byte 992f-991f, 994f-993f, 3\n"
			 "991: .asciz \"stapsdt\"\n992: .balign 4\n"
			 "993: .8byte 990b, 0, 0\n.asciz \"where\"\n.asciz \"mark\"\n.asciz \"-4@%%edi\"\n"
			 "994: .balign 4\n.popsection\n" ::
				 : "memory");
	counter += number;
	return number;
}
int main(int argc, char **argv)
{
	return work(argc);
}
