#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Scripts with random mistakes: the whole compiler must say something about each, or accept it; it must not crash, nor go on for ever.

    gen-mutations.py --sonde PROGRAM [--seed N] [--count N] [--tools] [--show]

The scripts are those of tests/exec, and with --tools the tools of Debian's bpftrace packages that the cache has (tests/peer/fetch).
Words of one script get into another, are doubled, swapped or lost: most mistakes get past the parser, to names, types and code. One
that ends with anything but status 0 or 1 is cut down and printed.
"""
import argparse
import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "exec"))
sys.dont_write_bytecode = True
from cases import find_cases  # noqa: E402

WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|[$@]?\w+|\s+|[<>=!&|+*/^%-]=|&&|\|\||<<|>>|\+\+|--|->|\.\.|\?:|.', re.S)


def sources(tools):
    texts = [c.script for c in find_cases(os.path.join(TESTS, "exec"), ".exec", None) if "command" not in c.word]
    if tools:
        cache = os.environ.get("SONDE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sonde")
        for path in sorted(glob.glob(os.path.join(cache, "peers", "bpftrace-*", "usr", "sbin", "*.bt"))):
            with open(path, encoding="utf-8") as f:
                # Without comments, which only make it long.
                texts.append(re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.S))
    return [WORD.findall(t) for t in texts]


def mutate(r, words, all_words):
    words = list(words)
    for _ in range(r.randrange(1, 4)):
        at = r.randrange(len(words))
        kind = r.random()
        if kind < 0.35:
            words[at] = r.choice(r.choice(all_words))
        elif kind < 0.5:
            del words[at]
        elif kind < 0.65:
            words.insert(at, words[r.randrange(len(words))])
        elif kind < 0.8:
            other = r.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        else:  # a few words of another script
            other = r.choice(all_words)
            start = r.randrange(len(other))
            words[at:at] = other[start:start + r.randrange(1, 12)]
        if not words:
            words = ["begin"]
    return words


def verdict(sonde, text):
    """None, or what is wrong."""
    try:
        p = subprocess.run([sonde, "--check", "--unsafe", "--no-warnings", "-"], input=text.encode(), capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "no end after 20 seconds"
    if p.returncode in (0, 1) and (p.returncode == 0 or p.stderr):
        return None
    return "exit status %d\n%s" % (p.returncode, p.stderr.decode("utf-8", "backslashreplace")[:1500])


def shrink(sonde, words):
    step = max(1, len(words) // 2)
    while step:
        at = 0
        while at < len(words):
            less = words[:at] + words[at + step:]
            if verdict(sonde, "".join(less)):
                words = less
            else:
                at += step
        step //= 2
    return words


def main():
    p = argparse.ArgumentParser(description="Scripts with random mistakes.")
    p.add_argument("--sonde", required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--tools", action="store_true", help="with the tools of bpftrace, if they are in the cache")
    p.add_argument("--show", action="store_true", help="print the scripts instead")
    args = p.parse_args()
    all_words = [w for w in sources(args.tools) if w]

    def one(i):
        r = random.Random(args.seed * 1000003 + i)
        words = mutate(r, r.choice(all_words), all_words)
        if args.show:
            print("".join(words))
            return True
        if not verdict(args.sonde, "".join(words)):
            return True
        words = shrink(args.sonde, words)
        print("not ok mutation %d of seed %d\n%s\n--- %s" % (i, args.seed, "".join(words), verdict(args.sonde, "".join(words))), flush=True)
        return False

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        results = list(pool.map(one, range(args.count)))
    print("# seed %d\n%d passed, %d failed" % (args.seed, sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
