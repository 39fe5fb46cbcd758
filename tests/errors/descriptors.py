#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Standard descriptors that are closed, full or non-blocking, and a low limit of open files.

    descriptors.py --sonde PATH
"""
import argparse
import fcntl
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import termios
import time

PIPE_SZ = 4096
FULL = "ERROR: cannot write the output: No space left on device\n"
CLOSED = "ERROR: cannot write the output: standard output is closed\n"
HELLO = "tests/golden/hello.bt"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WRITERS = (["-l", "interval:*"], ["type", "int"], ["--help"], ["--version"], ["--print-doc", "man"], ["--info"], ["--fmt", HELLO], ["help"],
           ["inject", "--help"], ["--check", "-d", "ast", HELLO], ["--vm", "-q", "-e", "begin { print(1); }"])


class Check:
    def __init__(self, sonde):
        self.sonde, self.passed, self.failed = sonde, 0, 0

    def verdict(self, ok, detail):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("not ok: %s" % detail)

    def run(self, argv, closed=(), limit=0, stdout=subprocess.PIPE):
        def prepare():
            for fd in closed:
                os.close(fd)
            if limit:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        return subprocess.run([self.sonde] + argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, encoding="utf-8", timeout=60, cwd=ROOT,
                              preexec_fn=prepare)

    def full(self):
        """Output that cannot be written is an error, whatever the command."""
        for argv in WRITERS:
            with open("/dev/full", "w") as f:
                p = self.run(argv, stdout=f)
            self.verdict(p.returncode == 1 and p.stderr == FULL, "%s >/dev/full: status %d\n%s" % (argv, p.returncode, p.stderr))
            p = self.run(argv, closed=(1,))
            self.verdict(p.returncode == 1 and p.stderr == CLOSED, "%s >&-: status %d\n%s" % (argv, p.returncode, p.stderr))

    def closed(self):
        """No file takes the number of a standard descriptor."""
        script = 'begin { print(1); errorf("oops"); }'
        for closed in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
            with tempfile.TemporaryDirectory(prefix="sonde-fds-") as top:
                p = self.run(["--vm", "-q", "-o", top + "/out", "-e", script], closed=closed)
                with open(top + "/out") as f:
                    text = f.read()
                self.verdict(p.returncode == 0 and text.strip() == "1", "closed %s: status %d, wrote %r\n%s" % (closed, p.returncode, text, p.stderr))
        p = self.run(["--check", "-"], closed=(0,))
        self.verdict(p.returncode == 1 and p.stderr == "ERROR: cannot read stdin: Bad file descriptor\n", "closed stdin: %s" % p.stderr)

    def non_blocking(self):
        """A reader that is slow gets everything: it reads nothing until the pipe is full."""
        want = self.run(["--print-doc", "functions"]).stdout
        r, w = os.pipe()
        fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, PIPE_SZ)
        os.set_blocking(w, False)
        p = subprocess.Popen([self.sonde, "--print-doc", "functions"], stdin=subprocess.DEVNULL, stdout=w, stderr=subprocess.PIPE)
        os.close(w)
        while p.poll() is None and int.from_bytes(fcntl.ioctl(r, termios.FIONREAD, bytes(4)), sys.byteorder) < PIPE_SZ:
            time.sleep(0.01)
        with os.fdopen(r, encoding="utf-8") as f:
            got = f.read()
        err = p.stderr.read().decode()
        self.verdict(p.wait() == 0 and got == want and len(want) > 2 * PIPE_SZ and not err, "non-blocking: %d of %d bytes\n%s" % (len(got), len(want), err))

    def limit(self):
        p = self.run(["-e", "begin { exit(); }"], limit=8)
        self.verdict(p.returncode == 1 and p.stderr.startswith("ERROR: the limit of open files is too low: ") and "ulimit -n" in p.stderr and "verifier" not in p.stderr,
                     "limit of 8: status %d\n%s" % (p.returncode, p.stderr))
        p = self.run(["--vm", "-q", "-e", "begin { print(1); }"], limit=8)
        self.verdict(p.returncode == 0 and p.stdout.strip() == "1", "limit of 8, --vm: status %d\n%s" % (p.returncode, p.stderr))


def main():
    p = argparse.ArgumentParser(description="Standard descriptors, and a low limit of open files.")
    p.add_argument("--sonde", required=True)
    c = Check(shutil.which(p.parse_args().sonde))
    c.full()
    c.closed()
    c.non_blocking()
    c.limit()
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
