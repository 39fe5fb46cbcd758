#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random whole programs, run in two ways that must agree: nothing is known of what they should print.

    gen-program.py --a 'COMMAND' --b 'COMMAND' [--seed N] [--count N] [--show]

The commands get the script on standard input: 'build/sonde --vm -' and 'build/sonde -q -' hold the interpreter against the kernel
(which has to accept every program, too), 'build/sonde --vm -' and 'build-small/sonde --vm -' the code with many registers against
the code with few. What is different is cut down to a smaller script that is still different, and printed.
"""
import argparse
import concurrent.futures
import os
import random
import shlex
import subprocess
import sys

INT_TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
WORDS = ["", "a", "ab", "abc", "sonde", "hello world", "0123456789abcdef", "a longer text of forty bytes, or nearly so"]


FUNCTION = """fn f($x: int64, $s: string[64]): int64 {
	for ($i : 0..3) { if ($x & (1 << $i)) { return $x + $i; } if ($s == "ab") { break; } $x ^= 5; }
	return $x - 1;
}
"""


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.ints, self.strs, self.tuples = [], [], []
        self.names = self.loops = 0

    def pick(self, *choices):
        return self.r.choice(choices)

    def name(self):
        self.names += 1
        return "$v%d" % self.names

    def number(self):
        r = self.r.random()
        if r < 0.6:
            return str(self.r.randrange(0, 20))
        return str(self.r.choice([127, 128, 255, 256, 65535, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, self.r.getrandbits(40)]))

    # ---- expressions ----

    @staticmethod
    def is_constant(text):
        """The compiler would compute it, and refuse it if the result fits no type."""
        return not any(c in "$@" or c.isalpha() for c in text)

    def leaf(self):
        return self.r.choice(self.ints) if self.ints and self.r.random() < 0.7 else self.number()

    def integer(self, d=3):
        r = self.r.random()
        if d <= 0 or r < 0.3:
            return self.leaf()
        if r < 0.55:
            op = self.pick("+", "-", "*", "/", "%", "&", "|", "^")
            x, y = self.integer(d - 1), self.integer(d - 1)
            return "(%s %s %s)" % (self.r.choice(self.ints) if self.is_constant(x + y) else x, op, y)
        if r < 0.6:
            x = self.integer(d - 1)
            return "(%s %s %s)" % (self.r.choice(self.ints) if self.is_constant(x) else x, self.pick("<<", ">>"), self.integer(d - 1))
        if r < 0.68:
            return "(%s)%s" % (self.r.choice(INT_TYPES), self.operand(d))
        if r < 0.72:
            return "(%s ? %s : %s)" % (self.condition(d - 1), self.integer(d - 1), self.integer(d - 1))
        if r < 0.9:
            return self.map_integer(d)
        if r < 0.93 and self.tuples:
            return "%s.0" % self.r.choice(self.tuples)
        if r < 0.95:
            return self.pick("(~%s)" % self.operand(d), "(-(%s & 65535))" % self.integer(d - 1))
        if r < 0.965:
            return self.pick("((%s) ?: (%s))" % (self.integer(d - 1), self.integer(d - 1)), "f((int64)%s, %s)" % (self.operand(d), self.string(d - 1)), "*&$a")
        return self.pick("strncmp(%s, %s, %d)" % (self.string(d - 1), self.string(d - 1), self.r.randrange(1, 8)), "strlen(%s)" % self.string(d - 1),
                         "bswap((%s)%s)" % (self.pick("uint16", "uint32", "uint64"), self.operand(d)), "$r.a", "@rec[%s].b" % self.key(d),
                         "$bytes[%s & 3]" % self.r.choice(self.ints), "$bytes[%d]" % self.r.randrange(0, 4),
                         'strstr(%s, "%s")' % (self.string(d - 1), self.pick("a", "ab", "o w")),
                         "@grid[%s][%d]" % (self.key(d), self.r.randrange(0, 2)), "$t3.1.0", "@mn", "(int64)@sum[%s]" % self.key(d))

    def operand(self, d):
        return "(%s)" % self.integer(d - 1)

    def map_integer(self, d):
        return self.pick("@i", "@n", "@ik[%s]" % self.key(d), "@sk[%s]" % self.string(d - 1),
                         "@tk[%s, %s]" % (self.key(d), self.string(d - 1)), "@c", "@ck[%s]" % self.string(d - 1), "@sum[%s]" % self.key(d),
                         "@mx", "@av", "len(@ik)", "len(@ck)", "@tv[%s].0" % self.key(d))

    def key(self, d):
        return self.pick(str(self.r.randrange(0, 4)), "(%s & 3)" % self.integer(d - 1))

    def string(self, d=2):
        r = self.r.random()
        if d <= 0 or r < 0.35:
            return '"%s"' % self.r.choice(WORDS)
        if r < 0.6 and self.strs:
            return self.r.choice(self.strs)
        if r < 0.68:
            return "comm"
        if r < 0.78:
            return self.pick("@s", "@sv[%s]" % self.key(d))
        if r < 0.86:
            return "str(%s, %s)" % (self.pick(*(self.strs + ["comm"])), self.pick(str(self.r.randrange(1, 20)), "($b %% %d)" % self.r.randrange(1, 40)))
        if r < 0.92:
            return "(%s ? %s : %s)" % (self.condition(d - 1), self.string(d - 1), self.string(d - 1))
        if r < 0.96:
            return self.pick("$r.c", "@rec[%s].c" % self.key(d), "strerror((int32)%s)" % self.operand(d), "signal_name((int32)%s)" % self.operand(d),
                             "$t3.1.1", "syscall_name((int32)%s)" % self.operand(d))
        return "%s.1" % self.r.choice(self.tuples) if self.tuples else "comm"

    def condition(self, d=2):
        r = self.r.random()
        if r < 0.45 or d <= 0:
            return "%s %s %s" % (self.integer(d - 1), self.pick("==", "!=", "<", "<=", ">", ">="), self.integer(d - 1))
        if r < 0.6:
            return "%s %s %s" % (self.string(d - 1), self.pick("==", "!="), self.string(d - 1))
        if r < 0.75:
            return "(%s) %s (%s)" % (self.condition(d - 1), self.pick("&&", "||"), self.condition(d - 1))
        if r < 0.82:
            return "!(%s)" % self.condition(d - 1)
        if r < 0.92:
            return self.pick("has_key(@ik, %s)" % self.key(d), "has_key(@sk, %s)" % self.string(d - 1),
                             "has_key(@tk, (%s, %s))" % (self.key(d), self.string(d - 1)))
        return self.pick("(bool)%s" % self.operand(d), 'strcontains(%s, "%s")' % (self.string(d - 1), self.pick("a", "b c", "ello")), "$flag")

    # ---- statements: lists of lines; a block is a list itself ----

    def statement(self, depth):
        r = self.r.random()
        if r < 0.1:
            n = self.name()
            line = self.pick("let %s: %s = (%s)%s;" % ((n,) + (self.r.choice(INT_TYPES),) * 2 + (self.operand(2),)), "%s = %s;" % (n, self.integer()))
            if line.startswith("let"):
                t = self.r.choice(INT_TYPES)
                line = "let %s: %s = (%s)%s;" % (n, t, t, self.operand(2))
            self.ints.append(n)
            return [line]
        if r < 0.16:
            n = self.name()
            line = "%s = %s;" % (n, self.string())
            self.strs.append(n)
            return [line]
        if r < 0.2:
            n = self.name()
            line = "%s = (%s, %s, %s);" % (n, self.integer(), self.string(), self.condition())
            self.tuples.append(n)
            return [line]
        if r < 0.3 and self.ints:
            v = self.r.choice(self.ints)
            return [self.pick("%s++;" % v, "--%s;" % v, "%s %s %s;" % (v, self.pick("+=", "-=", "*=", "&=", "|=", "^="), self.integer()))]
        if r < 0.35 and self.strs:
            return ["%s = %s;" % (self.r.choice(self.strs), self.string())]
        if r < 0.62:
            return [self.map_statement()]
        if r < 0.8:
            return [self.output()]
        if depth <= 0:
            return [self.jump() if self.loops and r > 0.95 else self.output()]
        if r < 0.88:
            return self.loop(depth)
        head = "if (%s) {" % self.condition()
        yes = self.block(depth - 1)
        if self.r.random() < 0.5:
            return [[head, yes, "}"]]
        return [[head, yes, "} else {", self.block(depth - 1), "}"]]

    # Entries come in another order in the interpreter: what a loop over a map does may not depend on it. So it has no output, nor jumps.

    def loop(self, depth):
        kind = self.pick("range", "range", "while", "map", "unroll")
        if kind == "map":
            m = self.pick("@ik", "@sum", "@ck", "@tk")
            return [["for (%s : %s) {" % (self.name(), m), ["@seen_%s[$v%d.0] = sum($v%d.1);" % (m[1:], self.names, self.names),
                                                           "$a += $v%d.1;" % self.names], "}"]]
        self.loops += 1
        if kind == "range":
            n = self.name()
            head = "for (%s : %s..%s) {" % (n, self.pick("0", "-2", "(%s & 3)" % self.integer(1)), self.pick("3", "(%s & 7)" % self.integer(1)))
            self.ints.append(n)
            body = self.block(depth - 1)
            self.ints.pop()
        elif kind == "while":
            n = self.name()
            head = "while (%s < 3 && (%s)) {" % (n, self.condition())
            body = ["%s++;" % n] + self.block(depth - 1)
        else:
            head, body = "unroll (%d) {" % self.r.randrange(1, 4), self.block(depth - 1)
        self.loops -= 1
        return ["%s = 0;" % n, [head, body, "}"]] if kind == "while" else [[head, body, "}"]]

    def jump(self):
        return "if (%s) { %s; }" % (self.condition(1), self.pick("break", "continue", "break", "continue", "return"))

    def map_statement(self):
        return self.pick(
            "@i = (int64)%s;" % self.operand(3), "@i += %s;" % self.integer(), "@n++;", "@n--;",
            "@ik[%s] = (int64)%s;" % (self.key(2), self.operand(3)), "@ik[%s]++;" % self.key(2), "@ik[%s] += %s;" % (self.key(2), self.integer()),
            "@sk[%s] = (int64)%s;" % (self.string(), self.operand(3)), "@sk[%s]++;" % self.string(),
            "@tk[%s, %s] = (int64)%s;" % (self.key(2), self.string(), self.operand(3)), "@tk[%s, %s]--;" % (self.key(2), self.string()),
            "@s = %s;" % self.string(), "@sv[%s] = %s;" % (self.key(2), self.string()),
            "@tv[%s] = (%s, %s);" % (self.key(2), self.integer(), self.string()),
            "@c = count();", "@ck[%s] = count();" % self.string(), "@sum[%s] = sum((int64)%s);" % (self.key(2), self.operand(3)),
            "@mx = max((int64)%s);" % self.operand(3), "@av = avg((int64)%s);" % self.operand(3), "@h = hist(%s);" % self.integer(),
            "@hk[%s] = hist(%s, 2);" % (self.string(), self.integer()), "@l = lhist(%s, 0, 100, 10);" % self.integer(),
            "@q = quantiles(%s);" % self.integer(), "@qk[%s] = quantiles((%s)%s);" % (self.key(2), self.pick("uint8", "int16", "uint32", "int64"), self.operand(3)),
            "_ = delete(@ik, %s);" % self.key(2), "_ = delete(@sk, %s);" % self.string(), "_ = delete(@ck, %s);" % self.string(),
            "@mn = min((int64)%s);" % self.operand(3), "@st[%s] = stats((int64)%s);" % (self.key(2), self.operand(3)),
            "@rec[%s] = (a = (int64)%s, b = (int64)%s, c = %s);" % (self.key(2), self.operand(2), self.operand(2), self.string(1)),
            "@grid[%s] = (uint32[2])(uint64)%s;" % (self.key(2), self.operand(2)),
            "@i %s %s;" % (self.pick("-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="), self.integer()),
            "@ik[%s] %s %s;" % (self.key(2), self.pick("-=", "*=", "/=", "&=", "|=", ">>="), self.integer()),
            "$r = (a = (int64)%s, b = (uint8)%s, c = %s);" % (self.operand(2), self.operand(2), self.string(1)),
            "@deep[(%s, (%s, %s)), %s] = (%s, (%s, true));" % (self.key(1), self.string(1), self.condition(1), self.key(1), self.string(1), self.condition(1)))

    def output(self):
        return self.pick(
            "print(%s);" % self.integer(), "print(%s);" % self.string(), "print(%s);" % self.condition(),
            "print((%s, %s, (%s, %s)));" % (self.integer(), self.string(), self.condition(), self.integer()),
            'printf("%%ld|%%s|%%x|%%s\\n", %s, %s, %s, %s);' % (self.integer(), self.string(), self.integer(), self.string()),
            'printf("%%s %%d\\n", %s, %s);' % (self.condition(), self.integer()),
            "print(@ik[%s]);" % self.key(1), "print(@c);", "print($r);", "print($bytes);", "print(@rec[%s]);" % self.key(1), "print($t3);",
            'printf("%%-5d|%%5s|%%05x|%%c|%%p|%%llu\\n", %s, %s, %s, (uint8)65, %s, %s);' %
            (self.integer(), self.string(), self.integer(), self.integer(), self.integer()), "clear(@hk);", "zero(@ck);", "clear(@sv);",
            "print(buf(%s, %d));" % (self.string(1) if not self.strs else self.r.choice(self.strs), self.r.randrange(1, 12)))

    def block(self, depth):
        saved = len(self.ints), len(self.strs), len(self.tuples)
        lines = []
        for _ in range(self.r.randrange(1, 4)):
            lines += self.statement(depth)
        for names, cnt in zip((self.ints, self.strs, self.tuples), saved):
            del names[cnt:]
        return lines

    def program(self):
        # Everything has its type from the start, and the maps an element or two.
        start = ["@zero = (uint64)0;", "@i = (int64)@zero;", "@n = 0;", "@ik[1] = (int64)5;", '@sk["abc"] = (int64)1;', '@tk[1, "ab"] = (int64)2;',
                 '@s = "first";', '@sv[1] = "one";', '@tv[1] = ((int64)1, "one");', "@c = count();", '@ck["abc"] = count();', "@sum[1] = sum((int64)1);",
                 "@mx = max((int64)1);", "@av = avg((int64)1);", "@h = hist(1);", '@hk["abc"] = hist(1, 2);', "@l = lhist(1, 0, 100, 10);",
                 "@q = quantiles(1);", "@qk[1] = quantiles(1);", "@mn = min((int64)5);", "@st[1] = stats((int64)3);", '@rec[1] = (a = (int64)1, b = (int64)2, c = "three");',
                 "@grid[1] = (uint32[2])(uint64)77;", '@deep[(1, ("x", true)), 2] = ("y", (false, true));', "let $a: int64 = (int64)(7 + @zero);", "let $b: uint8 = (uint8)(250 + @zero);", '$s = "text";', '$t = (1 + @zero, "tuple");',
                 '$r = (a = (int64)@zero, b = (uint8)3, c = "sea");', "$bytes = (uint8[4])(uint32)(@zero + 0x01020304);",
                 '$t3 = (@zero, ((int64)4, "four"), $a > 3);', "$flag = $b > 200;"]
        self.ints, self.strs, self.tuples = ["$a", "$b"], ["$s"], ["$t"]
        lines = []
        for _ in range(self.r.randrange(4, 14)):
            lines += self.statement(2)
        return start, lines


def render(lines, indent="\t"):
    out = ""
    for l in lines:
        if isinstance(l, list):
            for part in l:
                out += render(part, indent + "\t") if isinstance(part, list) else indent + part + "\n"
        else:
            out += indent + l + "\n"
    return out


def script_of(start, lines):
    return FUNCTION + "BEGIN {\n%s%s}\n" % (render(start), render(lines))


def run(argv, script):
    try:
        p = subprocess.run(argv, input=script, capture_output=True, encoding="utf-8", errors="backslashreplace", timeout=60)
    except subprocess.TimeoutExpired:
        return "no end"
    return "exit status %d\n%s%s" % (p.returncode, p.stdout, p.stderr if p.returncode else "")


def differs(a, b, start, lines):
    script = script_of(start, lines)
    x, y = run(a, script), run(b, script)
    # All of them are right, unless their constants are too large: one that does not run is as bad as one that runs in two ways.
    if x == y and ("unable to fold literals" in x or "value will underflow" in x):
        return None
    return (x, y) if x != y or not x.startswith("exit status 0\n") else None


def is_same_kind(found):
    """Not one that the shrinking made."""
    return "ERROR: Un" not in found[0] + found[1] and "outside of a loop" not in found[0] + found[1]


def shrink(a, b, start, lines):
    """Takes away lines as long as the difference stays."""
    changed = True
    while changed:
        changed = False
        for part in (lines, start):
            i = 0
            while i < len(part):
                taken = part.pop(i)
                found = differs(a, b, start, lines)
                if found and is_same_kind(found):
                    changed = True
                else:
                    part.insert(i, taken)
                    i += 1
        for i, l in enumerate(lines):
            if isinstance(l, list):  # a block: try its inside alone
                for inner in [p for p in l if isinstance(p, list)]:
                    smaller = lines[:i] + inner + lines[i + 1:]
                    found = differs(a, b, start, smaller)
                    if found and is_same_kind(found):
                        lines[:] = smaller
                        changed = True
                        break
            if changed:
                break
    return differs(a, b, start, lines)


def main():
    p = argparse.ArgumentParser(description="Random programs, run in two ways.")
    p.add_argument("--a", required=False, default="build/sonde --vm --no-warnings -")
    p.add_argument("--b", required=False, default="build/sonde -q --no-warnings -")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--show", action="store_true", help="print the first script and stop")
    args = p.parse_args()
    a, b = shlex.split(args.a), shlex.split(args.b)

    def one(i):
        g = Generator(args.seed * 1000003 + i)
        start, lines = g.program()
        if args.show:
            print(script_of(start, lines))
            return True
        found = differs(a, b, start, lines)
        if not found:
            return True
        x, y = shrink(a, b, start, lines) or found
        print("not ok program %d of seed %d\n%s--- %s\n%s--- %s\n%s---" % (i, args.seed, script_of(start, lines), args.a, x, args.b, y))
        return False

    if args.show:
        one(0)
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        results = list(pool.map(one, range(args.count)))
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
