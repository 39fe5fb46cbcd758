# SPDX-License-Identifier: GPL-2.0-only
"""Measures, and writes the page docs/benchmarks.md. Started by bench/run."""

import argparse
import os
import re
import shutil
import subprocess
import time

from commands import OTHERS
from common import QUICK_ROUNDS, Setup, path_of, say, write_file
from goals import PARTS
from page import page

STEAL = ("/proc/stat", r"^cpu +(?:\d+ ){7}(\d+)")  # in hundredths of a second


def parse_args():
    p = argparse.ArgumentParser(prog="bench/run", formatter_class=argparse.RawDescriptionHelpFormatter, description="""\
Measures Sonde beside its peers on this machine, and writes docs/benchmarks.md and docs/growth.svg. Needs root, and at most 15 minutes on an idle machine
with two CPUs. With --quick or --only, the page goes to standard output unless -o is given.""",
                                epilog="parts:\n" + "\n".join(f"  {letter}  {part.title}" for letter, part in PARTS.items()))
    p.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds, without the older bpftrace, slow peers and guests")
    p.add_argument("--only", metavar="LETTERS", help="measure these parts only")
    p.add_argument("-o", dest="page", metavar="FILE", help="write the page there, and growth.svg beside it")
    for tool in ("sonde", "new", "old", "ply", "folder"):
        p.add_argument("--" + tool, default="", help=argparse.SUPPRESS)  # bench/run gives these
    opts = p.parse_args()
    if not set(opts.only or "") <= set(PARTS):
        p.error(f"--only takes letters of the parts: {''.join(PARTS)}")
    return opts


def version_of(cmd):
    done = subprocess.run(cmd + ["--version"], capture_output=True, text=True)
    found = re.search(r"\d+\.\d+[.\d]*", done.stdout + done.stderr)
    return found[0] if found else "?"


def set_up(opts):
    Setup.sonde, Setup.folder, Setup.ply, Setup.is_quick = opts.sonde, opts.folder, opts.ply.split()[1:], opts.quick
    Setup.tools["sonde"] = [opts.sonde]
    Setup.titles = {tool: tool for tool in ("sonde", "ply") + OTHERS} | {"hand": "by hand"}
    for name, cmd in (("new", opts.new), ("old", "" if opts.quick and opts.new else opts.old)):
        if cmd:
            Setup.tools[name] = [cmd]
            Setup.titles[name] = "bpftrace " + ".".join(version_of([cmd]).split(".")[:2])


def find_in(path, pattern):
    with open(path) as f:
        return re.search(pattern, f.read(), re.M)[1]


def describe_machine(opts, load, steal, took):
    versions = [f"{Setup.titles[tool].split()[0]} {version_of(cmd)}" for tool, cmd in Setup.tools.items()]
    versions += [f"ply {version}" for version in opts.ply.split()[:1]]
    versions += [f"{tool} {version_of([tool])}" for tool in ("clang",) + OTHERS if shutil.which(tool)]
    yield (f"{find_in('/proc/cpuinfo', '^model name.*: (.*)$')}, {os.cpu_count()} CPUs, {find_in('/etc/os-release', '^PRETTY_NAME=.(.*).$')}, "
           f"Linux {os.uname().release}")
    yield ", ".join(versions)
    yield f"load average: {load:.1f} before the run, {os.getloadavg()[0]:.1f} at its end; the hypervisor took {(int(find_in(*STEAL)) - steal) / 100:.0f} s of CPU time"
    yield f"duration: {sum(took.values()) / 60:.1f} minutes" + (f"; a `--quick` run, with {QUICK_ROUNDS} samples and without slow peers" if Setup.is_quick else "")


def main():
    opts = parse_args()
    set_up(opts)
    results, took, load, steal = {}, {}, os.getloadavg()[0], int(find_in(*STEAL))
    for letter in opts.only or (PARTS if not opts.quick else "sepmgtoz"):
        say(PARTS[letter].title)
        start = time.monotonic()
        results[letter] = PARTS[letter].measure()
        took[PARTS[letter].title] = time.monotonic() - start
    text, out = page(results, describe_machine(opts, load, steal, took)), opts.page or ("" if opts.quick or opts.only else "docs/benchmarks.md")
    if out:
        write_file(out, text)
    if out and "g" in results:
        shutil.copy(path_of("growth.svg"), os.path.join(os.path.dirname(out), "growth.svg"))
    for title, seconds in {**took, "all parts": sum(took.values())}.items():
        say(f"{title}: {seconds:.0f} s")
    print("" if out else text, end="")


main()
