#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random values of random types, against an independent model of how they are kept and shown.

    gen-types.py --sonde PROGRAM [--seed N] [--count N] [--kernel] [--show]

A script has variables and maps of random shapes: integers of all widths, bools, enums, strings, arrays, tuples and records inside of
each other. It assigns values to them (records in any order of their fields, integers and strings of any width that fits), takes them
apart, compares them, uses them as keys, and prints. The model keeps the values and says what must be printed. A script that is wrong
is cut down line by line, and printed.
"""
import argparse
import concurrent.futures
import random
import subprocess
import sys

ENUM = ["E0", "E1", "E2", "E3"]
HEAD = "config = { print_maps_on_exit = false }\nenum en { E0, E1, E2, E3 };\nmacro same(x) { x }\n"
TEXTS = ["", "a", "bc", "hello", "a text of some length", "twenty-four characters..", "x" * 40]


class Shape:
    """kind: int bool enum str array tuple record; parts: of tuples (shapes) and records (name, shape); elem and cnt of arrays."""

    def __init__(self, kind, parts=(), elem=None, cnt=0):
        self.kind, self.parts, self.elem, self.cnt = kind, parts, elem, cnt


def shape(r, depth=2):
    kinds = ["int", "int", "bool", "enum", "str", "array"] + (["tuple", "record"] * 3 if depth else [])
    kind = r.choice(kinds)
    if kind == "tuple":
        return Shape(kind, [shape(r, depth - 1) for _ in range(r.randint(1, 4))])
    if kind == "record":
        names = sorted(r.sample(["a", "b", "c", "length", "name"], r.randint(1, 4)))
        return Shape(kind, [(n, shape(r, depth - 1)) for n in names])
    if kind == "array":
        size = r.choice([1, 2, 4, 8])
        return Shape(kind, elem=(size, r.random() < 0.5), cnt=8 // size if size == 8 or r.random() < 0.5 else r.choice([n for n in (1, 2, 4, 8) if n * size <= 8]))
    return Shape(kind)


def zero(s):
    if s.kind == "tuple":
        return tuple(zero(p) for p in s.parts)
    if s.kind == "record":
        return {n: zero(p) for n, p in s.parts}
    if s.kind == "array":
        return [0] * s.cnt
    return {"int": 0, "bool": False, "enum": 0, "str": ""}[s.kind]


def shown(s, v):
    if s.kind == "tuple":
        return "(%s)" % ", ".join(shown(p, x) for p, x in zip(s.parts, v))
    if s.kind == "record":
        return "{ %s }" % ", ".join(".%s = %s" % (n, shown(p, v[n])) for n, p in s.parts)
    if s.kind == "array":
        return "[%s]" % ",".join(str(x) for x in v)
    if s.kind == "bool":
        return "true" if v else "false"
    return ENUM[v] if s.kind == "enum" else str(v)


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.vars, self.maps, self.keyed = [], [], []  # [name, shape, value]; keyed: [name, key shape, shape, {repr of key: (key, value)}]
        self.fixed = []  # variables of a declared type, which are assigned to once
        self.lines = []  # (text, expected output)

    def add(self, text, out=""):
        self.lines.append((text, out))

    # ---- values: the text of an expression, and what it is ----

    def integer(self):
        r = self.r
        size, signed = r.choice([1, 2, 4, 8]), r.random() < 0.5
        v = r.choice([0, 1, 5, 100, 127, r.randrange(1 << 7), r.randrange(1 << 8 * size - 1 if size < 8 else 1 << 62)])
        v &= (1 << 8 * size - 1) - 1
        if signed and r.random() < 0.4:
            v = -v - r.randrange(2)
        if r.random() < 0.3:
            return str(v), v
        return "(%sint%d)%d" % ("" if signed else "u", 8 * size, v), v

    def array(self, s):
        size, signed = s.elem
        total = size * s.cnt
        raw = self.r.getrandbits(8 * total) if self.r.random() < 0.8 else self.r.randrange(3)
        if size == 8:
            raw &= (1 << 63) - 1  # one of its elements may meet signed ones
        elems = []
        for i in range(s.cnt):
            x = raw >> 8 * size * i & (1 << 8 * size) - 1
            elems.append(x - (1 << 8 * size) if signed and x >> 8 * size - 1 else x)
        num = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}[total]
        return "(%sint%d[%s])(%s)%d" % ("" if signed else "u", 8 * size, self.r.choice(["", str(s.cnt)]), num, raw), elems

    def value(self, s, depth=2):
        r = self.r
        if depth and r.random() < 0.25:
            known = self.known(s)
            if known:
                return r.choice(known)
        if depth and r.random() < 0.1:
            (a, x), (b, y), c = self.value(s, depth - 1), self.value(s, depth - 1), r.random() < 0.5
            return "(%s ? %s : %s)" % (r.choice(["$yes", "$yes && pid"] if c else ["!$yes", "$yes == 0"]), a, b), x if c else y
        if depth and r.random() < 0.05:
            a, x = self.value(s, depth - 1)
            return "same(%s)" % a, x
        if s.kind == "tuple":
            parts = [self.value(p, depth) for p in s.parts]
            return "(%s%s)" % (", ".join(t for t, _ in parts), "," if len(parts) == 1 else ""), tuple(x for _, x in parts)
        if s.kind == "record":
            parts = [(n, self.value(p, depth)) for n, p in r.sample(s.parts, len(s.parts))]
            return "(%s)" % ", ".join("%s = %s" % (n, t) for n, (t, _) in parts), {n: x for n, (_, x) in parts}
        if s.kind == "array":
            return self.array(s)
        if s.kind == "int":
            return self.integer()
        if s.kind == "enum":
            i = r.randrange(4)
            return r.choice([ENUM[i], "(enum en)%d" % i]), i
        if s.kind == "bool":
            b = r.random() < 0.5
            return r.choice(["true", "(pid != 0)", "$yes"] if b else ["false", "(pid == 0)", "!$yes"]), b
        text = r.choice(TEXTS)
        return '"%s"' % text, text

    # ---- what is there ----

    def places(self):
        """(text, shape, value) of all variables, maps and parts of them."""
        out = []
        todo = [(n, s, v) for n, s, v in self.vars + self.fixed + self.maps]
        for n, _, s, entries in self.keyed:
            todo += [("%s[%s]" % (n, k), s, v) for k, v in entries.values()]
        while todo:
            t, s, v = todo.pop()
            out.append((t, s, v))
            if s.kind == "tuple":
                todo += [(t + (".%d" % i if self.r.random() < 0.6 or t.startswith("@") and "[" not in t else "[%d]" % i), p, v[i]) for i, p in enumerate(s.parts)]
            elif s.kind == "record":
                todo += [(t + "." + n, p, v[n]) for n, p in s.parts]
            elif s.kind == "array":
                i = self.r.randrange(s.cnt)
                base = "(%s)" % t if t.startswith("@") else t
                out.append(("%s[%d]" % (base, i), Shape("int"), v[i]))
                if i < 3:
                    out.append(("%s[$%s]" % (base, ["zero", "one", "two"][i]), Shape("int"), v[i]))
        return out

    def known(self, s):
        return [(t, v) for t, p, v in self.places() if self.is_like(p, s)]

    def is_like(self, a, b):
        if a.kind != b.kind:
            return False
        if a.kind == "tuple":
            return len(a.parts) == len(b.parts) and all(self.is_like(x, y) for x, y in zip(a.parts, b.parts))
        if a.kind == "record":
            other = dict(b.parts)
            return len(a.parts) == len(b.parts) and all(n in other and self.is_like(x, other[n]) for n, x in a.parts)
        return a.elem == b.elem and a.cnt == b.cnt

    # ---- statements ----

    def make(self):
        r = self.r
        for i in range(r.randint(2, 4)):
            s = shape(r)
            t, v = self.first(s)
            self.add("$v%d = %s;" % (i, t))
            self.vars.append(["$v%d" % i, s, v])
        for i in range(2):
            s = shape(r)
            t, v = self.first(s)
            self.add("@m%d = %s;" % (i, t))
            self.maps.append(["@m%d" % i, s, v])
        for i in range(2):
            self.keyed.append(["@k%d" % i, shape(r), shape(r), {}])
            self.put(self.keyed[-1])
        for _ in range(r.randint(8, 20)):
            self.statement()

    def first(self, s):
        """A value with its records in the order of the shape: the first one says what order they are shown in."""
        _, v = self.value(s)
        return self.literal(s, v, True), v

    def put(self, m):
        kt, k = self.value(m[1], 1) if m[3] else self.first(m[1])
        t, v = self.value(m[2]) if m[3] else self.first(m[2])
        self.add("%s[%s] = %s;" % (m[0], kt, t))
        m[3][repr(self.normal(m[1], k))] = (self.literal(m[1], k), v)

    def normal(self, s, v):
        if s.kind == "record":
            return [(n, self.normal(p, v[n])) for n, p in s.parts]
        if s.kind == "tuple":
            return [self.normal(p, x) for p, x in zip(s.parts, v)]
        return v

    def literal(self, s, v, in_order=False):
        """An expression for exactly this value."""
        if s.kind == "tuple":
            return "(%s%s)" % (", ".join(self.literal(p, x, in_order) for p, x in zip(s.parts, v)), "," if len(v) == 1 else "")
        if s.kind == "record":
            parts = s.parts if in_order else self.r.sample(s.parts, len(s.parts))
            return "(%s)" % ", ".join("%s = %s" % (n, self.literal(p, v[n], in_order)) for n, p in parts)
        if s.kind == "array":
            size, signed = s.elem
            raw = sum((x & (1 << 8 * size) - 1) << 8 * size * i for i, x in enumerate(v))
            return "(%sint%d[%d])(uint%d)%d" % ("" if signed else "u", 8 * size, s.cnt, 8 * size * s.cnt, raw)
        return {"int": str, "bool": lambda b: "true" if b else "false", "enum": lambda i: ENUM[i], "str": lambda t: '"%s"' % t}[s.kind](v)

    def statement(self):
        r = self.r
        c = r.random()
        if c < 0.3:
            x = r.choice(self.vars + self.maps)
            t, v = self.value(x[1])
            self.add("%s = %s;" % (x[0], t) if r.random() < 0.7 else "if ($yes) { %s = %s; }" % (x[0], t))
            x[2] = v
        elif c < 0.4:
            self.put(r.choice(self.keyed))
        elif c < 0.45:
            m = r.choice(self.keyed)
            if m[3]:
                k = r.choice(list(m[3]))
                self.add("delete(%s, %s);" % (m[0], m[3][k][0]))
                del m[3][k]
        elif c < 0.55:
            m = r.choice(self.keyed)
            kt, k = self.value(m[1], 1)
            there = m[3].get(repr(self.normal(m[1], k)))
            self.add("print((has_key(%s, %s), %s[%s]));" % (m[0], kt, m[0], kt), "(%s, %s)\n" % ("true" if there else "false", shown(m[2], there[1] if there else zero(m[2]))))
        elif c < 0.7:
            t, s, v = r.choice(self.places())
            u, w = (self.literal(s, v), v) if r.random() < 0.5 else self.value(s)
            op = r.choice(["==", "!="])
            self.add("print(%s %s %s);" % (t, op, u), shown(Shape("bool"), (self.normal(s, v) == self.normal(s, w)) == (op == "==")) + "\n")
        elif c < 0.75:
            n, s, v = r.choice(self.vars)
            name = "$t%d" % len(self.lines)
            self.add("let %s: typeof(%s) = %s;" % (name, n, n))
            self.fixed.append([name, s, v])
        else:
            t, s, v = r.choice(self.places())
            if r.random() < 0.3 or t in ("@m0", "@m1"):  # print() of a map is for later
                self.add('printf("%%s|\\n", %s);' % t, shown(s, v) + "|\n")
            else:
                self.add("print(same(%s));" % t, shown(s, v) + "\n")


def script_of(lines):
    return HEAD + "BEGIN {\n\t$yes = pid != 0; $zero = (uint64)pid - pid; $one = $zero + 1; $two = $zero + 2;\n%s}\n" % "".join("\t%s\n" % t for t, _ in lines)


def run(argv, lines):
    """None if it is right, else what it printed."""
    want = "".join(o for _, o in lines)
    try:
        p = subprocess.run(argv, input=script_of(lines), capture_output=True, encoding="utf-8", errors="backslashreplace", timeout=60)
    except subprocess.TimeoutExpired:
        return "no end"
    if p.returncode == 0 and p.stdout.rstrip("\n") == want.rstrip("\n"):
        return None
    return "exit status %d\n%s%s" % (p.returncode, p.stdout, p.stderr)


def shrink(argv, lines):
    """Takes away lines that print, and others as long as it stays wrong in the same way."""
    found = run(argv, lines)
    changed = True
    while changed:
        changed = False
        for i in range(len(lines) - 1, -1, -1):
            fewer = lines[:i] + lines[i + 1:]
            if not lines[i][1] and not lines[i][0].startswith("let"):
                continue
            again = run(argv, fewer)
            if again and ("ERROR" in again) == ("ERROR" in found) and "Undefined" not in again:
                lines, found, changed = fewer, again, True
    return lines, found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sonde", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=50)
    p.add_argument("--kernel", action="store_true", help="in the kernel, not in the interpreter")
    p.add_argument("--show", action="store_true", help="print the scripts, run nothing")
    args = p.parse_args()
    argv = [args.sonde, "-q" if args.kernel else "--vm", "--no-warnings", "-"]
    failed = 0

    def one(seed):
        g = Generator(seed)
        g.make()
        if args.show:
            print(script_of(g.lines))
            return None
        return (g.lines, seed) if run(argv, g.lines) else None

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for bad in pool.map(one, range(args.seed * 1000, args.seed * 1000 + args.count)):
            if not bad:
                continue
            failed += 1
            if failed <= 3:
                lines, found = shrink(argv, bad[0])
                print("seed %d is wrong:\n%s\nprints:\n%s\nwanted:\n%s" % (bad[1], script_of(lines), found, "".join(o for _, o in lines)))
    print("%d passed, %d failed" % (args.count - failed, failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
