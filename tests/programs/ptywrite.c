/* SPDX-License-Identifier: GPL-2.0-only */
/* ptywrite TEXT: writes TEXT to the slave side of a new pseudo-terminal, so that the kernel's pty_write() sees it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;

	if (argc != 2 || master < 0 || grantpt(master) || unlockpt(master)) {
		perror("ptywrite");
		return 1;
	}
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || write(slave, argv[1], strlen(argv[1])) < 0) {
		perror(ptsname(master));
		return 1;
	}
	printf("%s\n", ptsname(master));
	return 0;
}
