/* exit32: a 32-bit program that only exits. The kernel looks for somebody who can load it among the functions for 64-bit programs first. */
	.globl _start
_start:
	movl $1, %eax /* exit */
	xorl %ebx, %ebx
	int $0x80
	.section .note.GNU-stack, "", @progbits
