#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Long scripts, as programs write them: what exceeds a limit is refused with the limit and the place, what does not is accepted.

    long.py --sonde PATH

tests/guard counts the instructions that scripts of GROWTH take, at two lengths.
"""
import argparse
import os
import subprocess
import sys


def each(n, text):
    return "\n".join(text.replace("#", str(i)) for i in range(n))


def begin(n, text, before="", after=""):
    return "begin { %s\n%s\n%s }\n" % (before, each(n, text), after)


# A script of n parts; lengths that a compilation of quadratic cost would fail by.
GROWTH = {
    "defines": (lambda n: "".join("#define D_%d %d\n" % (i, i) for i in range(n)) + begin(n, "@ = D_#;"), 1000),
    "enum": (lambda n: "enum e { %s };\n" % each(n, "E#,") + begin(n, "@ = E#;"), 1000),
    "enums": (lambda n: each(n, "enum e# { E# };") + "\n" + begin(n, "@ = E#;"), 1000),
    "members": (lambda n: "struct s { %s };\nbegin { @ = sizeof(struct s); }" % each(n, "int m#;"), 2000),
    "structs": (lambda n: each(n, "struct s# { int m; };") + "\n" + begin(n, "@ = sizeof(struct s#);"), 1000),
    "macros": (lambda n: each(n, "macro m#($x) { $x + # }") + "\n" + begin(n, "@ = m#($y);", "$y = 1;"), 1000),
    "functions": (lambda n: each(n, "fn f#($x: int64): int64 { return $x + #; }") + "\nbegin { @ = f0(1); }", 1000),
    "maps": (lambda n: begin(n, "@m# = #;"), 1000),
    "variables": (lambda n: begin(n, "$v# = #; @ = $v#;"), 1000),
    "conditions": (lambda n: begin(n, "if (pid == #) { @ = #; }"), 1000),
    "strings": (lambda n: begin(n, '@["s#"] = #;'), 1000),
    "printfs": (lambda n: begin(n, 'printf("%d #\\n", #);'), 1000),
    "loops": (lambda n: begin(n, "for ($i : 0..9) { @ = $i; }"), 60),
    "probes": (lambda n: each(n, "interval:s:1 /@ == #/ { @ = #; }"), 250),
}

BRANCHES = "branches in a row, a program can have 8192"
# name: script, place, message
REFUSED = {
    "printfs": (begin(8193, 'printf("%d\\n", #);'), "8194:1-21", "this probe has 8193 " + BRANCHES),
    "branches": (begin(5000, "if (pid == # || tid == #) { @ = #; }"), "4098:1", "this probe has 10000 " + BRANCHES),
    "branches_in_loop": ("begin { for ($i : 0..9) {\n%s } }" % each(9000, "if ($i == # + pid) { @ = #; }"), "1", BRANCHES),
    "maps": (begin(64, "@m#[1] = 1;"), "65:1-12", "this probe uses 65 maps of the kernel, a program can use 64"),
    "jump": ("begin { if (pid) {\n%s } }" % each(4000, 'printf("%d\\n", #);'), "1-4001", "a jump can skip 32767 instructions"),
    "loops": (begin(300, "for ($i : 0..9) { @ = $i; }"), "1-302", "this probe has 300 loops, a program can have 255"),
    "enum": ("enum e {\n%s };\nbegin { @ = E1; }" % each(65536, "E#,"), "65537:1-7", "this enum has more than 65535 constants"),
    "members": ("struct s {\n%s };\nbegin { @ = 1; }" % each(65536, "int m#;"), "65537:5-11", "this struct has more than 65535 members"),
    "unroll": ("begin { %s @ = count(); %s }" % ("unroll (20) { " * 50, "}" * 50), "1:", "loops are nested too deeply"),
    "parentheses": ("begin { @ = %s1%s; }" % ("(" * 5000, ")" * 5000), "1:", "too many levels of nesting"),
    "else_if": ("begin { %s { @ = 1; } }" % each(5000, "if (pid == #) { @ = #; } else"), "", "too many levels of nesting"),
}
# As many as are allowed.
ACCEPTED = {
    "printfs": begin(8192, 'printf("%d\\n", #);'),
    "maps": begin(63, "@m#[1] = 1;"),
    "loops": begin(255, "for ($i : 0..9) { @ = $i; }"),
    "enum": "enum e { %s };\nbegin { @ = E65534; }" % each(65535, "E#,"),
    "members": "struct s { %s };\nbegin { @ = ((struct s *)1)->m65534; }" % each(65535, "int m#;"),
}


class Check:
    def __init__(self, sonde):
        self.sonde, self.passed, self.failed = sonde, 0, 0
        tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.env = dict(os.environ, SONDE_TEST_MACHINE=os.path.join(tests, "fixture", "machine"))

    def check(self, name, script, test):
        p = subprocess.run([self.sonde, "--check", "-"], input=script, capture_output=True, encoding="utf-8", timeout=300, env=self.env)
        ok = test(p)
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("not ok: %s: exit status %d\n%s" % (name, p.returncode, p.stderr[:1000]))

    def run(self):
        for name, (script, place, message) in REFUSED.items():
            self.check(name, script, lambda p: p.returncode == 1 and p.stderr.startswith("stdin:" + place) and message in p.stderr.split("\n")[0])
        for name, script in ACCEPTED.items():
            self.check("most " + name, script, lambda p: p.returncode == 0 and not p.stderr)
        for name, (make, n) in GROWTH.items():
            self.check("long " + name, make(n), lambda p: p.returncode == 0 and not p.stderr)


def main():
    p = argparse.ArgumentParser(description="Long scripts.")
    p.add_argument("--sonde", required=True)
    c = Check(p.parse_args().sonde)
    c.run()
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
