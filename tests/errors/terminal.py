#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What reaches a terminal: control characters of traced strings, names and keys are made visible there, and only there. The script's
own text stays as it is written.

    terminal.py --sonde PATH
"""
import argparse
import os
import pty
import subprocess
import sys
import tempfile

# A string that is not the script's own, as far as the compiler knows: with ESC, BEL, newline, DEL, U+009B and a byte that is no UTF-8.
DATA = r'str_concat("\x1b]0;t\x07\n\x7f\xc2\x9b\xff\xc3\xa9", comm)'
RAW = "\x1b]0;t\x07\n\x7f\u009b\udcff\u00e9sonde"
SHOWN = r"\x1b]0;t\x07\n\x7f\xc2\x9b\xff" + "\u00e9sonde"
BOLD = "\x1b[1m"
# script, what is printed: %s is that string.
CASES = [
    ("print(%s);", "%s\n"),
    (r'printf("\x1b[1m%%s\x1b[1m\n", %s);', BOLD + "%s" + BOLD + "\n"),
    ("@[%s] = 1; print(@); clear(@);", "@[%s]: 1\n\n"),
    ("@[1, %s] = 1; print(@); clear(@);", "@[1, %s]: 1\n\n"),
    ("@ = %s; print(@); clear(@);", "@: %s\n\n"),
    ("print((1, %s));", "(1, %s)\n"),
    ("$s = %s; print($s);", "%s\n"),
]
# The script's own text, and numbers: the same everywhere.
OWN = [
    (r'printf("\x1b[1m%s%c\n", "\x1b[1m", 7);', BOLD + BOLD + "\x07\n"),
    (r'print("\x1b[1m");', BOLD + "\n"),
    (r'$s = "\x1b[1m"; printf("%s\n", $s);', BOLD + "\n"),
    (r'printf("%s\n", pid ? "\x1b[1m" : "\t");', BOLD + "\n"),
    (r'print(strftime("\t%%", nsecs));', "\t%\n"),
    (r'$s = "a"; $s = comm; $s = "\x1b[1m"; printf("%s\n", $s);', None),
]


def text(data):
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


class Check:
    def __init__(self, sonde):
        self.sonde, self.passed, self.failed = sonde, 0, 0

    def verdict(self, ok, detail):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print("not ok: %s" % detail.encode("unicode_escape").decode())

    def run(self, argv, terminal):
        """Output and messages, both to a terminal or both to a pipe."""
        if not terminal:
            p = subprocess.run([self.sonde] + argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            return text(p.stdout)
        master, slave = pty.openpty()
        p = subprocess.Popen([self.sonde] + argv, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
        os.close(slave)
        got = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the last one has closed it
                break
            if not part:
                break
            got += part
        os.close(master)
        p.wait()
        return text(got)

    def script(self, script, want_terminal, want_pipe, options=()):
        argv = ["--vm", "-q"] + list(options) + ["-e", "config = { print_maps_on_exit = false } begin { %s }" % script]
        for terminal, want in ((True, want_terminal), (False, want_pipe)):
            got = self.run(argv, terminal).rstrip("\n")
            self.verdict(want is None or got == want.rstrip("\n"), "%s %s: wanted %r, got %r" % (script, "terminal" if terminal else "pipe", want, got))

    def strings(self):
        for script, want in CASES:
            self.script(script % DATA, want % SHOWN, want % RAW)
            self.script(script % DATA, want % RAW, want % RAW, ["--raw-strings"])
        for script, want in OWN:
            self.script(script, want, want)
        self.script(OWN[-1][0], "\\x1b[1m", BOLD)
        self.script('printf("%%.3s|%%-6s|\\n", %s, str_concat("\\x1b", ""));' % DATA, r"\x1b]0|\x1b  |", "\x1b]0|\x1b     |")
        json = r'{"type": "value", "data": "\u001b]0;t\u0007\n%s%s\\xff' + "\u00e9" + 'sonde"}'
        self.script("print(%s);" % DATA, json % (r"\u007f", r"\u009b"), json % ("\x7f", "\u009b"), ["-f", "json"])
        self.script("print(%s);" % DATA, json % ("\x7f", "\u009b"), json % ("\x7f", "\u009b"), ["-f", "json", "--raw-strings"])

    def has(self, argv, shown, raw):
        for terminal in (True, False):
            got = self.run(argv, terminal)
            want, other = (shown, raw) if terminal else (raw, shown)
            self.verdict(want in got and other not in got, "%s %s: wanted %r in %r" % (argv, "terminal" if terminal else "pipe", want, got))

    def names(self):
        with tempfile.TemporaryDirectory(prefix="sonde-terminal-") as tmp:
            name = os.path.join(tmp, "x\x1b[2J")
            with open(name, "w") as f:
                f.write("line\tone\n\x1b[1m\n")
            self.has([name + "none"], "x\\x1b[2Jnone", "x\x1b[2Jnone")
            self.has(["--vm", "-q", "-e", 'begin { cat(str($1)); }', name], "line\tone\n\\x1b[1m\n", "line\tone\n\x1b[1m\n")
            self.has(["--vm", "-q", "-e", 'begin { cat("%s", str_concat(str($1), "none")); }', name], "x\\x1b[2Jnone", "x\x1b[2Jnone")
            self.has(["--vm", "-q", "-e", 'begin { warnf("%s", str_concat("\\x1b[2J", comm)); }'], "\\x1b[2Jsonde", "\x1b[2Jsonde")
            functions = os.path.join(tmp, "functions")
            with open(functions, "w") as f:
                f.write("only\x1b[2J_this\n")
            self.has(["--traceable-functions", functions, "-l", "kprobe:only*"], "only\\x1b[2J_this", "only\x1b[2J_this")


def main():
    p = argparse.ArgumentParser(description="Control characters on a terminal.")
    p.add_argument("--sonde", required=True)
    c = Check(p.parse_args().sonde)
    c.strings()
    c.names()
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
