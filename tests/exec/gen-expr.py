#!/usr/bin/env python3
"""Random integer expressions against an independent model of the language's typing rules.

    gen-expr.py --sonde PROGRAM [--seed N] [--count N] [--kernel] [--show]

The same seed makes the same expressions. Many of them go into one script, which prints each value by print(), so that width and
sign of the type show too. What is different is printed as a script of its own that shows it.

The rules (reference, section 2.9):
  - A literal is as wide as it needs, signed, and takes the sign of the other operand; above INT64_MAX it is uint64.
  - + * / % & | ^ << >> are computed in 64 bits: int64 if either side is signed, else uint64. - always gives int64.
  - / and % are unsigned machine operations; by zero they give 1. >> is a logical shift.
  - Comparisons are signed if either side is; they and ! && || give bool.
  - Unary - gives int64, ~ is 64 bits wide with its operand's sign.
  - A cast cuts, and extends by the sign of what it is given.
  - ?: joins its branches: same sign, the wider; mixed signs, the next larger signed type that holds both, at most int64.
  - ++ and -- wrap in the type that the variable was declared with. Operands are evaluated from left to right.

Left out, because the rules above do not say: shifts by 64 and more; arithmetic on bools; constants that do not fit 64 bits, and / %
~ of negative constants, which a compiler computes itself.
"""
import argparse
import random
import subprocess
import sys

PER_SCRIPT = 40
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
    """text; value as a mathematical integer; its type (size, signed) or "bool"; a literal is flexible; const: computed by the compiler."""

    def __init__(self, text, value, typ, flexible=False, const=False):
        self.text, self.value, self.type, self.flexible, self.const = text, value, typ, flexible, const

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
    if value < 0:
        size = next(s for s in (1, 2, 4, 8) if value >= -(1 << 8 * s - 1))
        return Node("(%d)" % value, value, (size, True), const=True)
    if value > 2**63 - 1:
        return Node(str(value), value, (8, False), const=True)
    size = next(s for s in (1, 2, 4, 8) if value < 1 << 8 * s - 1)
    return Node(str(value), value, (size, True), flexible=True, const=True)


class Unsaid(Exception):
    """The rules do not say what this is."""


def constant(text, value):
    """What the compiler makes of an operation on constants: again a literal."""
    if not -2**63 <= value < 2**64:
        raise Unsaid
    n = literal(value)
    n.text = text
    return n


def binary(op, a, b):
    text = "(%s %s %s)" % (a.text, op, b.text)
    if op in ("&&", "||"):
        return Node(text, bool(a.value and b.value) if op == "&&" else bool(a.value or b.value), "bool")
    signed = a.signed_with(b)
    x, y = wrap(a.value, 8, signed), wrap(b.value, 8, signed)
    if op in ("==", "!=", "<", "<=", ">", ">="):
        return Node(text, {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op], "bool")
    ux, uy = wrap(x, 8, False), wrap(y, 8, False)
    if op in ("<<", ">>") and uy > 63:
        raise Unsaid
    if a.const and b.const:
        if op in ("/", "%") and (a.value < 0 or b.value <= 0):
            raise Unsaid
        if a.value < 0 or b.value < 0 or not (a.flexible and b.flexible):
            if op not in ("+", "-", "*"):
                raise Unsaid
        if not (a.flexible or a.value < 0) or not (b.flexible or b.value < 0):
            raise Unsaid
        exact = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x // y, "%": lambda: x % y,
                 "&": lambda: x & y, "|": lambda: x | y, "^": lambda: x ^ y, "<<": lambda: x << y, ">>": lambda: x >> y}[op]()
        return constant(text, exact)
    value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: ux // uy if uy else 1,
             "%": lambda: ux % uy if uy else 1, "&": lambda: ux & uy, "|": lambda: ux | uy, "^": lambda: ux ^ uy,
             "<<": lambda: ux << uy, ">>": lambda: ux >> uy}[op]()
    typ = (8, signed or op == "-")
    return Node(text, wrap(value, *typ), typ)


def unary(op, a):
    text = "%s%s" % (op, a.text)
    if op == "!":
        return Node(text, not a.value, "bool")
    if a.const:
        if op == "~" or a.value > 2**63:
            raise Unsaid
        return constant("(%s)" % text, -a.value)
    typ = (8, True) if op == "-" else (8, a.type[1])
    return Node("(%s)" % text, wrap(-a.value if op == "-" else ~a.value, *typ), typ)


def cast(t, a):
    return Node("(%s)%s" % (type_name(t), a.text), wrap(a.value, *t), t)


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


def ternary(c, a, b):
    typ, flexible = join(a, b)
    chosen = a if c.value else b
    return Node("(%s ? %s : %s)" % (c.text, a.text, b.text), wrap(chosen.value, *typ), typ, flexible)


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.vars = []
        self.conditional = 0  # inside of what may not be evaluated: nothing that changes a variable

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
        lines, self.vars = ["@zero = (uint64)0;", "let $zero: uint64 = %s;" % zero], []
        for i in range(cnt):
            t = TYPES[i] if i < len(TYPES) else self.r.choice(TYPES)
            value = wrap(self.number() * self.r.choice((1, 1, -1)), *t)
            name = "$v%d" % i
            lines.append(self.declaration(name, t, value))
            self.vars.append(Node(name, value, t))
        return lines

    def changed(self):
        """A variable's ++ or --. What was generated before stands to the left of it and has the old value; what comes, the new one."""
        v = self.r.choice(self.vars)
        op, old = self.r.choice(("++", "--")), v.value
        v.value = wrap(old + (1 if op == "++" else -1), *v.type)
        if self.r.random() < 0.5:
            return Node("(%s%s)" % (v.text, op), old, v.type)
        return Node("(%s%s)" % (op, v.text), v.value, v.type)

    def leaf(self):
        if not self.conditional and self.r.random() < 0.08:
            return self.changed()
        if self.r.random() < 0.6:
            v = self.r.choice(self.vars)
            return Node(v.text, v.value, v.type)
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
            return binary(self.r.choice(("==", "!=", "<", "<=", ">", ">=")), self.integer(depth - 1), self.integer(depth - 1))
        if r < 0.8 and depth > 1:
            return binary(self.r.choice(("&&", "||")), self.condition(depth - 1), self.condition(depth - 1))
        if r < 0.9 and depth > 1:
            c = self.condition(depth - 1)
            return unary("!", Node("(%s)" % c.text, c.value, c.type))
        return self.integer(depth - 1)

    def integer(self, depth):
        r = self.r.random()
        if depth <= 0 or r < 0.12:
            return self.leaf()
        if r < 0.68:
            op = self.r.choice("+ - * / % & | ^ << >>".split())
            a = self.integer(depth - 1)
            if op in ("<<", ">>"):
                b = literal(self.r.randrange(0, 64)) if self.r.random() < 0.7 else \
                    binary("&", self.integer(depth - 1), literal(63))
            else:
                b = self.integer(depth - 1)
            return binary(op, a, b)
        if r < 0.85:
            return cast(self.r.choice(TYPES), self.integer(depth - 1))
        if r < 0.93:
            return unary(self.r.choice("-~"), self.integer(depth - 1))
        self.conditional += 1
        try:
            return ternary(self.condition(depth - 1), self.integer(depth - 1), self.integer(depth - 1))
        finally:
            self.conditional -= 1

    def expression(self):
        while True:
            before = [v.value for v in self.vars]
            try:
                depth = self.r.choice((1, 2, 2, 3, 3, 4, 5))
                n = self.condition(depth) if self.r.random() < 0.2 else self.integer(depth)
                if len(n.text) < 1500:
                    n.before = before
                    return n
            except Unsaid:
                pass
            for v, value in zip(self.vars, before):
                v.value = value


def run(sonde, mode, script):
    # Warnings of the compiler (signed division) and of the run (division by zero) are not what is tested.
    p = subprocess.run([sonde] + mode + ["--no-warnings", "-B", "full", "-"], input=script, capture_output=True, encoding="utf-8")
    out = p.stdout.split("\n")
    return p.returncode, out, p.stderr


def script_of(lines, expressions):
    body = lines + ["print(%s);" % e.text for e in expressions]
    return "config = { print_maps_on_exit = false }\nBEGIN {\n\t%s\n}\n" % "\n\t".join(body)


def main():
    p = argparse.ArgumentParser(description="Random expressions against a model.")
    p.add_argument("--sonde", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--kernel", action="store_true", help="run in the kernel, not in the interpreter")
    p.add_argument("--show", action="store_true", help="print the scripts instead of running them")
    args = p.parse_args()
    g = Generator(args.seed)
    mode = ["-q"] if args.kernel else ["--vm"]
    passed = failed = 0

    while passed + failed < args.count:
        lines = g.declare(12)
        types = [v.type for v in g.vars]
        todo = [g.expression() for _ in range(min(PER_SCRIPT, args.count - passed - failed))]
        script = script_of(lines, todo)
        if args.show:
            sys.stdout.write(script)
            passed += len(todo)
            continue
        status, out, err = run(args.sonde, mode, script)
        if status == 0 and out[:len(todo)] == [e.shown() for e in todo]:
            passed += len(todo)
            continue
        # Something is wrong: one by one.
        bad = 0
        for e in todo:
            # Variables as they were before it; only those that it has.
            own = lines[:2] + [g.declaration("$v%d" % i, types[i], e.before[i]) for i in range(len(types)) if "$v%d" % i in e.text]
            status, out, err = run(args.sonde, mode, script_of(own, [e]))
            if status == 0 and out[0] == e.shown():
                continue
            bad += 1
            print("not ok\n  wanted %s (%s)\n  got    %s%s\n  script %s" %
                  (e.shown(), e.type if e.type == "bool" else type_name(e.type), out[0], "; " + err.strip() if status else "",
                   script_of(own, [e])))
        if not bad:
            print("not ok: each is right alone, but not all in one script\n%s%s" % (err, script))
            bad = 1
        failed += bad
        passed += len(todo) - bad
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
