#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random integer expressions against two independent models: one here, and one in C, compiled by this machine's compiler.

    gen-expr.py --sonde PROGRAM [--seed N] [--count N] [--kernel] [--no-c] [--show] [--write DIR]

The same seed makes the same expressions. Many of them go into one script, which prints each value by print(), so that width and
sign of the type show too. What is different is printed as a script of its own that shows it. --write leaves the scripts, and what
they must print, in a folder (for machines without Python) and runs nothing.

The types follow from the rules below, in Python; the values are computed here and again by C, in steps of one operation each with
explicit casts, so that nothing depends on C's own promotions, order of evaluation or undefined cases.

The rules (reference, section 2.9):
  - A literal is as wide as it needs, signed, and takes the sign of the other operand; above INT64_MAX it is uint64.
  - + * / % & | ^ << >> are computed in 64 bits: int64 if either side is signed, else uint64. - always gives int64.
  - / and % are unsigned machine operations; by zero they give 1. >> is a logical shift. Shift counts are taken modulo 64.
  - Comparisons are signed if either side is; they and ! && || give bool.
  - Unary - gives int64, ~ is 64 bits wide with its operand's sign.
  - A cast cuts, and extends by the sign of what it is given.
  - ?: joins its branches: same sign, the wider; mixed signs, the next larger signed type that holds both, at most int64.
  - ++, -- and op= wrap in the type that the variable was declared with. Operands are evaluated from left to right.

  - Numbers in the script are computed by the compiler, exactly, with signed / % and >>; what does not fit 64 bits is an error.

Left out: those errors, and arithmetic on bools.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

PER_SCRIPT = 20  # the verifier follows both sides of every condition: of 40, one script in 250 was too much for 6.12
TYPES = [(size, signed) for size in (1, 2, 4, 8) for signed in (False, True)]
BORDERS = [0, 1, 2, 3, 7, 8, 63, 64, 100, 127, 128, 129, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
           2**32 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]


def wrap(value, size, signed):
    value &= (1 << 8 * size) - 1
    if signed and value >> (8 * size - 1):
        value -= 1 << 8 * size
    return value


def type_name(t):
    return "%sint%d" % ("" if t[1] else "u", 8 * t[0])


class Node:
    """text; value as a mathematical integer; its type (size, signed) or "bool"; a literal is flexible; const: computed by the compiler;
    c: the same in C, a uint64_t with the value extended by the sign of its type."""

    def __init__(self, text, value, typ, flexible=False, const=False, c=None):
        self.text, self.value, self.type, self.flexible, self.const = text, value, typ, flexible, const
        self.c = c

    def signed_with(self, other):
        if self.flexible and other.flexible:
            return True
        if self.flexible:
            return other.type[1]
        if other.flexible:
            return self.type[1]
        return self.type[1] or other.type[1]

    def shown(self):
        return ("true" if self.value else "false") if self.type == "bool" else str(self.value)


def literal(value):
    """A non-negative one, or a negative one in parentheses, so that it stays one operand."""
    c = "%dull" % (value & 2**64 - 1)
    if value < 0:
        size = next(s for s in (1, 2, 4, 8) if value >= -(1 << 8 * s - 1))
        return Node("(%d)" % value, value, (size, True), const=True, c=c)
    if value > 2**63 - 1:
        return Node(str(value), value, (8, False), const=True, c=c)
    size = next(s for s in (1, 2, 4, 8) if value < 1 << 8 * s - 1)
    return Node(str(value), value, (size, True), flexible=True, const=True, c=c)


class Unsaid(Exception):
    """The rules do not say what this is."""


def constant(text, value, c):
    """What the compiler makes of an operation on constants: again a literal."""
    if not -2**63 <= value < 2**64:
        raise Unsaid
    n = literal(value)
    n.text, n.c = text, c
    return n


def c_type(t):
    return "uint8_t" if t == "bool" else type_name(t) + "_t"


def c_binary(op, x, y, signed):
    """In C, of two uint64_t. Division by zero, large counts and overflow are what the language says, not what C leaves open."""
    if op in ("&&", "||"):
        return "(uint64_t)(%s %s %s)" % (x, op, y)
    if op in ("==", "!=", "<", "<=", ">", ">="):
        t = "int64_t" if signed else "uint64_t"
        return "(uint64_t)((%s)%s %s (%s)%s)" % (t, x, op, t, y)
    if op in ("/", "%"):
        return "%s ? %s %s %s : 1" % (y, x, op, y) if not y.endswith("ull") else "1" if y == "0ull" else "%s %s %s" % (x, op, y)
    if op in ("<<", ">>"):
        return "%s %s (%s & 63)" % (x, op, y)
    return "%s %s %s" % (x, op, y)


def binary_value(op, x, y):
    """Of two values that are already of one sign; a mathematical integer."""
    ux, uy = wrap(x, 8, False), wrap(y, 8, False)
    return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: ux // uy if uy else 1,
            "%": lambda: ux % uy if uy else 1, "&": lambda: ux & uy, "|": lambda: ux | uy, "^": lambda: ux ^ uy,
            "<<": lambda: ux << (uy & 63), ">>": lambda: ux >> (uy & 63)}[op]()


def constant_value(op, x, y):
    """The compiler computes with numbers exactly, and refuses what does not fit: that is left out."""
    if op in ("/", "%"):
        if y == 0:
            raise Unsaid
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        return q if op == "/" else x - q * y
    if op in ("<<", ">>"):
        if not 0 <= y <= 63:
            raise Unsaid
        return x >> y if op == ">>" else wrap(x << y, 8, x < 0)
    return {"+": x + y, "-": x - y, "*": x * y, "&": x & y, "|": x | y, "^": x ^ y}[op]


def join(a, b):
    """The type of ?: with these branches, and whether it is still a literal's."""
    if a.flexible and b.flexible:
        return max(a.type, b.type), True
    if a.flexible or b.flexible:
        lit, fixed = (a, b) if a.flexible else (b, a)
        return (max(lit.type[0], fixed.type[0]), fixed.type[1]), False
    if a.type[1] == b.type[1]:
        return (max(a.type[0], b.type[0]), a.type[1]), False
    unsigned, signed = (b, a) if a.type[1] else (a, b)
    return (min(8, max(2 * unsigned.type[0], signed.type[0])), True), False


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.vars = []
        self.conditional = 0  # inside of what may not be evaluated: nothing that changes a variable
        self.code = []        # C, in the order of evaluation

    # ---- operations ----

    def step(self, expression, t=(8, False)):
        """A step in C whose result is a uint64_t, cut to type t and extended by its sign. Returns its name."""
        name = "t%d" % len(self.code)
        self.code.append("uint64_t %s = (uint64_t)(%s)(%s);" % (name, c_type(t), expression))
        return name

    def binary(self, op, a, b):
        text = "(%s %s %s)" % (a.text, op, b.text)
        if op in ("&&", "||"):
            return Node(text, bool(a.value and b.value) if op == "&&" else bool(a.value or b.value), "bool",
                        c=self.step(c_binary(op, a.c, b.c, False)))
        signed = a.signed_with(b)
        x, y = wrap(a.value, 8, signed), wrap(b.value, 8, signed)
        c = self.step(c_binary(op, a.c, b.c, signed))
        if op in ("==", "!=", "<", "<=", ">", ">="):
            value = {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]
            return Node(text, value, "bool", c=c)
        if a.const and b.const:
            value = constant_value(op, a.value, b.value)
            if op in ("/", "%", ">>") and (a.value < 0 or b.value < 0):
                c = self.step("%dull" % (value & 2**64 - 1))  # these have signs only here
            return constant(text, value, c)
        typ = (8, signed or op == "-")
        return Node(text, wrap(binary_value(op, x, y), *typ), typ, c=c)

    def unary(self, op, a):
        text = "%s%s" % (op, a.text)
        if op == "!":
            return Node(text, not a.value, "bool", c=self.step("!%s" % a.c))
        c = self.step("0 - %s" % a.c if op == "-" else "~%s" % a.c)
        if a.const:
            return constant("(%s)" % text, -a.value if op == "-" else ~a.value if a.value < 0 else wrap(~a.value, 8, False), c)
        typ = (8, True) if op == "-" else (8, a.type[1])
        return Node("(%s)" % text, wrap(-a.value if op == "-" else ~a.value, *typ), typ, c=c)

    def cast(self, t, a):
        return Node("(%s)%s" % (type_name(t), a.text), wrap(a.value, *t), t, c=self.step(a.c, t))

    def ternary(self, c, a, b):
        typ, flexible = join(a, b)
        chosen = a if c.value else b
        return Node("(%s ? %s : %s)" % (c.text, a.text, b.text), wrap(chosen.value, *typ), typ, flexible,
                    c=self.step("%s ? %s : %s" % (c.c, a.c, b.c), typ))

    def assign(self, depth):
        """Two statements: a variable's op=, and print() of it."""
        v = self.r.choice(self.vars)
        op = self.r.choice("+ - * / % & | ^ << >>".split())
        old = Node(v.text, v.value, v.type, c=v.c)
        e = self.integer(depth)
        signed = old.signed_with(e)
        v.value = wrap(binary_value(op, wrap(v.value, 8, signed), wrap(e.value, 8, signed)), *v.type)
        self.code.append("%s = (uint64_t)(%s)(%s);" % (v.c, c_type(v.type), c_binary(op, v.c, e.c, signed)))
        n = Node(v.text, v.value, v.type, c=v.c)
        n.statement = "%s %s= %s;" % (v.text, op, e.text)
        return n

    # ---- what there is ----

    def number(self):
        r = self.r.random()
        if r < 0.45:
            v = self.r.randrange(0, 300)
        elif r < 0.85:
            v = self.r.choice(BORDERS)
        else:
            v = self.r.getrandbits(self.r.randrange(1, 65))
        return v

    @staticmethod
    def declaration(name, t, value):
        # As unsigned 64 bits, cut by the cast: this way of writing it uses the least of what is tested.
        return "let %s: %s = (%s)(%d + $zero);" % (name, type_name(t), type_name(t), value & 2**64 - 1)

    def declare(self, cnt):
        """Variables of all types, declared with their type. To every value $zero is added: in one half of the scripts it comes from
        a map, so that nothing can be computed before the program runs, in the other half it is known and everything can."""
        zero = self.r.choice(("0", "(uint64)@zero"))
        self.code = []
        lines, self.vars = ["@zero = (uint64)0;", "let $zero: uint64 = %s;" % zero], []
        for i in range(cnt):
            t = TYPES[i] if i < len(TYPES) else self.r.choice(TYPES)
            value = wrap(self.number() * self.r.choice((1, 1, -1)), *t)
            name = "$v%d" % i
            lines.append(self.declaration(name, t, value))
            c = "v%d" % i
            self.code.append("uint64_t %s = (uint64_t)(%s)%dull;" % (c, c_type(t), value & 2**64 - 1))
            self.vars.append(Node(name, value, t, c=c))
        return lines

    def changed(self):
        """A variable's ++ or --. What was generated before stands to the left of it and has the old value; what comes, the new one."""
        v = self.r.choice(self.vars)
        op, old = self.r.choice(("++", "--")), v.value
        v.value = wrap(old + (1 if op == "++" else -1), *v.type)
        before = self.step(v.c)
        self.code.append("%s = (uint64_t)(%s)(%s %s 1);" % (v.c, c_type(v.type), v.c, op[0]))
        if self.r.random() < 0.5:
            return Node("(%s%s)" % (v.text, op), old, v.type, c=before)
        return Node("(%s%s)" % (op, v.text), v.value, v.type, c=self.step(v.c))

    def leaf(self):
        if not self.conditional and self.r.random() < 0.08:
            return self.changed()
        if self.r.random() < 0.6:
            v = self.r.choice(self.vars)
            return Node(v.text, v.value, v.type, c=self.step(v.c))  # as it is now
        v = self.number()
        return literal(-v if v <= 2**63 and self.r.random() < 0.25 else v)

    def condition(self, depth):
        self.conditional += 1
        try:
            return self.any_condition(depth)
        finally:
            self.conditional -= 1

    def any_condition(self, depth):
        r = self.r.random()
        if r < 0.6:
            return self.binary(self.r.choice(("==", "!=", "<", "<=", ">", ">=")), self.integer(depth - 1), self.integer(depth - 1))
        if r < 0.8 and depth > 1:
            return self.binary(self.r.choice(("&&", "||")), self.condition(depth - 1), self.condition(depth - 1))
        if r < 0.9 and depth > 1:
            c = self.condition(depth - 1)
            return self.unary("!", Node("(%s)" % c.text, c.value, c.type, c=c.c))
        return self.integer(depth - 1)

    def integer(self, depth):
        r = self.r.random()
        if depth <= 0 or r < 0.12:
            return self.leaf()
        if r < 0.68:
            op = self.r.choice("+ - * / % & | ^ << >>".split())
            a = self.integer(depth - 1)
            if op in ("<<", ">>"):
                r = self.r.random()
                b = literal(self.r.choice((0, 1, 7, 31, 32, 33, 63, self.r.randrange(0, 64)))) if r < 0.6 else \
                    literal(self.number()) if r < 0.7 else self.integer(depth - 1)  # large counts too
            else:
                b = self.integer(depth - 1)
            return self.binary(op, a, b)
        if r < 0.85:
            return self.cast(self.r.choice(TYPES), self.integer(depth - 1))
        if r < 0.93:
            return self.unary(self.r.choice("-~"), self.integer(depth - 1))
        self.conditional += 1
        try:
            return self.ternary(self.condition(depth - 1), self.integer(depth - 1), self.integer(depth - 1))
        finally:
            self.conditional -= 1

    def expression(self):
        while True:
            before, steps = [v.value for v in self.vars], len(self.code)
            try:
                depth = self.r.choice((1, 2, 2, 3, 3, 4, 5))
                r = self.r.random()
                n = self.condition(depth) if r < 0.2 else self.assign(depth - 1) if r < 0.35 else self.integer(depth)
                if len(n.text) < 1500 and len(getattr(n, "statement", "")) < 1500:
                    n.before = before
                    t = "uint64_t" if n.type == "bool" or not n.type[1] else "int64_t"
                    self.code.append('put_bool(%s);' % n.c if n.type == "bool" else
                                     'put("%%%s\\n", (%s)%s);' % ("lu" if t == "uint64_t" else "ld", t, n.c))
                    return n
            except Unsaid:
                pass
            del self.code[steps:]
            for v, value in zip(self.vars, before):
                v.value = value


# ---- C ----

C_HEAD = """#include <stdint.h>
#include <stdio.h>
#define put(format, value) printf(format, value)
#define put_bool(value) puts((value) ? "true" : "false")
"""


def c_values(functions):
    """What C makes of them: one list of lines."""
    folder = tempfile.mkdtemp(prefix="sonde-expr-")
    try:
        path = os.path.join(folder, "expr")
        with open(path + ".c", "w") as f:
            f.write(C_HEAD)
            for i, code in enumerate(functions):
                f.write("static void f%d(void)\n{\n\t%s\n}\n" % (i, "\n\t".join(code)))
            f.write("int main(void)\n{\n%s}\n" % "".join("\tf%d();\n" % i for i in range(len(functions))))
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-O0", "-w", "-o", path, path + ".c"], check=True)
        return subprocess.run([path], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.split("\n")[:-1]
    finally:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def run(sonde, mode, script):
    # Warnings of the compiler (signed division) and of the run (division by zero) are not what is tested.
    p = subprocess.run([sonde] + mode + ["--no-warnings", "-B", "full", "-"], input=script, capture_output=True, encoding="utf-8")
    out = p.stdout.split("\n")
    return p.returncode, out, p.stderr


def script_of(lines, expressions):
    body = lines + [getattr(e, "statement", "") + "print(%s);" % e.text for e in expressions]
    return "config = { print_maps_on_exit = false }\nBEGIN {\n\t%s\n}\n" % "\n\t".join(body)


def batches(g, count):
    """(declarations, types of the variables, expressions) of each script, and the same in C."""
    todo, code = [], []
    while count > 0:
        lines = g.declare(12)
        types = [v.type for v in g.vars]
        todo.append((lines, types, [g.expression() for _ in range(min(PER_SCRIPT, count))]))
        code.append(g.code)
        count -= len(todo[-1][2])
    return todo, code


def one_by_one(args, mode, lines, types, expressions):
    """How many are wrong when each has a script of its own."""
    bad = 0
    for e in expressions:
        # Variables as they were before it; only those that it has.
        text = getattr(e, "statement", "") + e.text
        own = lines[:2] + [Generator.declaration("$v%d" % i, types[i], e.before[i]) for i in range(len(types)) if "$v%d" % i in text]
        status, out, err = run(args.sonde, mode, script_of(own, [e]))
        if status == 0 and out[0] == e.shown():
            continue
        bad += 1
        print("not ok\n  wanted %s (%s)\n  got    %s%s\n  script %s" %
              (e.shown(), e.type if e.type == "bool" else type_name(e.type), out[0], "; " + err.strip() if status else "",
               script_of(own, [e])))
    return bad


def main():
    p = argparse.ArgumentParser(description="Random expressions against a model.")
    p.add_argument("--sonde")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--kernel", action="store_true", help="run in the kernel, not in the interpreter")
    p.add_argument("--no-c", action="store_true", help="without the model in C")
    p.add_argument("--show", action="store_true", help="print the scripts instead of running them")
    p.add_argument("--write", metavar="DIR", help="write DIR/expr-SEED-N.bt and .want instead of running them")
    args = p.parse_args()
    mode = ["-q"] if args.kernel else ["--vm"]
    passed = failed = 0
    todo, code = batches(Generator(args.seed), args.count)

    for i, (lines, _, expressions) in enumerate(todo):
        if args.show:
            sys.stdout.write(script_of(lines, expressions))
        if args.write:
            path = os.path.join(args.write, "expr-%d-%d" % (args.seed, i))
            with open(path + ".bt", "w") as f:
                f.write(script_of(lines, expressions))
            with open(path + ".want", "w") as f:
                f.write("".join(e.shown() + "\n" for e in expressions))
    if args.show or args.write:
        return 0
    if not args.no_c:
        wanted = [e for _, _, expressions in todo for e in expressions]
        for e, got in zip(wanted, c_values(code)):
            if e.shown() != got:
                failed += 1
                print("not ok: the models differ\n  here %s, in C %s\n  %s%s" % (e.shown(), got, getattr(e, "statement", ""), e.text))
    for lines, types, expressions in todo:
        script = script_of(lines, expressions)
        status, out, err = run(args.sonde, mode, script)
        if status == 0 and out[:len(expressions)] == [e.shown() for e in expressions]:
            passed += len(expressions)
            continue
        bad = one_by_one(args, mode, lines, types, expressions)
        if not bad:
            print("not ok: each is right alone, but not all in one script\n%s%s" % (err, script))
            bad = 1
        failed += bad
        passed += len(expressions) - bad
    print("# seed %d" % args.seed)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
