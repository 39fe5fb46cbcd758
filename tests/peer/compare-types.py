#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares types that both of two outputs of `sonde type -j` have: sizes, offsets, bits, values.

    compare-types.py SOME ALL

A name may stand for several types in ALL (static ones of several files): one of them must be the same. An enum without values is only
declared, and not compared.
"""
import json
import sys


def load(path):
    types = {}
    with open(path) as f:
        for line in f:
            t = json.loads(line)
            if t["type"] in ("struct", "union") or (t["type"] == "enum" and t["values"]):
                types.setdefault((t["type"], t["name"]), []).append(t)
    return types


def shape(t):
    if t["type"] == "enum":
        return t["size"], [(v["name"], v["value"]) for v in t["values"]]

    def member(m):
        inner = [member(x) for x in m["members"]] if "members" in m else None
        return m["name"], m["offset"], m["size"], m.get("bit_offset"), m.get("bits"), inner

    return t["size"], [member(m) for m in t["members"]]


def main():
    some, everything = load(sys.argv[1]), load(sys.argv[2])
    same = 0
    bad = []
    for name, types in some.items():
        for t in types:
            if name not in everything:
                continue
            if any(shape(t) == shape(x) for x in everything[name]):
                same += 1
            else:
                bad.append((name, shape(t), shape(everything[name][0])))
    for name, a, b in bad[:20]:
        print("not ok %s %s: size %d and %d" % (name + (a[0], b[0])))
        for x, y in zip(a[1], b[1]):
            if x != y:
                print("    %s\n    %s" % (x, y))
                break
    print("# %d types are in both, %d only in the first" % (same + len(bad), sum(n not in everything for n in some)))
    print("%d passed, %d failed" % (same, len(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
