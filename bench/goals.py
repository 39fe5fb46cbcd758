# SPDX-License-Identifier: GPL-2.0-only
"""What is measured: metrics with their units, goals, and the parts of the page."""

from collections import namedtuple

from commands import CALLS as PERF_CALLS, measure_growth, measure_perf, measure_sizes, measure_start, measure_types
from common import LIMIT_S
from guests import measure_guests
from tracing import CALLS, CPU_RATE, EACH, LATE_S, PRECISION, PRINTED_CALLS, SHORT_OF, STRETCHES, TRIAL_S, measure_events, measure_maps, measure_printed

METRICS = {  # name -> (title, unit)
    "wall": ("wall time", "ms"),
    "cpu": ("CPU time", "ms"),
    "memory": ("peak resident set", "MB"),
    "program": ("time in BPF programs", "ns per call"),
    "added": ("CPU time added to a call", "ns"),
    "verified": ("instructions processed by the verifier", ""),
    "rate": ("events printed without loss", "per second"),
    "print_cpu": (f"CPU time of the tracer at {CPU_RATE:,} events per second", "ns per event"),
    "top_cpu": ("CPU time of the tracer at its highest rate", "ns per event"),
    "size": ("size", "MB"),
    "power": ("power of growth", ""),
}

# Rows are those of the part whose title matches a regular expression. With a peer the goal is for Sonde ÷ peer, else for Sonde's own figure.
Goal = namedtuple("Goal", "what part rows metric peer limit is_least is_mean", defaults=(False, False))
GOALS = [
    Goal("start-up", "s", "BEGIN", "wall", "new", 0.01),
    Goal("start-up", "s", "BEGIN", "cpu", "new", 0.02),
    Goal("start-up", "s", "BEGIN", "memory", "new", 0.03),
    Goal("start-up", "s", "BEGIN", "wall", "ply", 2),
    Goal("start-up", "s", "BEGIN", "memory", "ply", 2),
    Goal("static, stripped program", "z", "program", "size", None, 3),
    Goal("all system calls, attach and detach", "s", r"sys_enter_\*", "wall", "new", 0.005),
    Goal("uprobes, attach and detach", "s", "uprobe", "wall", "new", 0.5),
    *[Goal(f"{kind}s in other kernels, attach and detach", "k", f"`{kind}:", "wall", peer, limit)
      for peer in ("new", "old") for kind, limit in (("tracepoint", 0.333), ("kprobe", 0.5), ("kretprobe", 0.5), ("uprobe", 0.5))],
    *[Goal("cost per event", "e", "^(?!empty)", metric, peer, limit, is_mean=is_mean) for metric in ("program", "added")
      for peer, limit, is_mean in (("new", 1, False), ("new", 0.6, True), ("old", 1, False), ("old", 0.6, True), ("hand", 1.05, False))],
    *[Goal("cost of loading", "e", "^(?!empty)", "verified", peer, 1) for peer in ("new", "old")],
    *[Goal("printing", "p", "", metric, peer, limit, is_least)
      for metric, limit, is_least in (("rate", 5, True), ("print_cpu", 0.2, False)) for peer in ("new", "old")],
    *[Goal("printing a map", "m", "", "wall", peer, 0.2) for peer in ("new", "old")],
    Goal("compiling", "g", "^lines.*: 2,000$|^probes.*: 500$", "wall", None, 100),
    Goal("scaling", "g", "", "power", None, 1.1),
]

Part = namedtuple("Part", "title measure metrics tools text")
COST, BPFTRACES = ("wall", "cpu", "memory"), ("sonde", "new", "old")
PARTS = {  # by the letter of --only, in the order of the page
    "s": Part("Start-up, attaching and detaching", measure_start, COST, BPFTRACES + ("ply",), """
Each script ends as soon as its probes are attached. A sample is the whole command, on one CPU. LIBC is a copy of the C library that no process uses.
The older bpftrace and ply have no figure where they lack such probes or need minutes."""),
    "k": Part("Many probes in other kernels", measure_guests, ("wall",), BPFTRACES, """
The same measurement in emulated guests with Debian's kernels. All tools are much slower there, so only the ratios count. Each script is `{ @ = count(); }`. The oldest
kernel attaches kprobes and uprobes one by one, so its rows have few of them."""),
    "e": Part("Cost per event", measure_events, ("program", "added", "verified"), BPFTRACES + ("hand",), f"""
A process makes system calls in a loop; each call is an event. *Time in BPF programs* is what the kernel counts with `bpf_stats_enabled`, which includes
its two clock reads. *CPU time added to a call* is the CPU time of a call with the tracer minus that without, while the kernel does not count. A sample
is the median of {STRETCHES} stretches of {CALLS:,} calls, and each sample starts the tracer anew. Where a script prints, a stretch is {PRINTED_CALLS} calls and the
tracer is stopped meanwhile, so no figure includes the time to wake it.

*By hand* is `bench/hand.bpf.c`, compiled by `clang -O2`. Sonde attaches to the raw tracepoint of all system calls, and its program selects the call. The
other tools leave that to the kernel, so only *CPU time added to a call* compares the whole cost. The kernel stack is deeper at the raw tracepoint, so `kstack`
has more frames to walk. The row *empty probe* has no goal."""),
    "p": Part("Printed events", measure_printed, ("rate", "print_cpu", "top_cpu"), BPFTRACES, f"""
`printf("%8d %s\\n", pid, comm)` to a file in memory. Producers make system calls at a given rate; each call prints {EACH} lines. A trial takes
{TRIAL_S} s. It fails when a line is missing {LATE_S * 1000:.0f} ms after the last call. A sample is the highest rate at which one of two trials succeeds, by
bisection to {PRECISION * 100:.0f} %. The search also ends when the traced producers make less than {SHORT_OF * 100:.0f} % of the rate; then the sample is what they made."""),
    "m": Part("Maps of many keys", measure_maps, ("wall", "memory"), BPFTRACES, """
The script fills a map. The time is from SIGINT to the end of the process: printing and detaching. The output is a file in memory."""),
    "g": Part("Growth and compile time", measure_growth, ("wall", "memory", "power"), BPFTRACES, f"""
The cost of more and more work, on one CPU, and that of two amounts for bpftrace. A tool fails when it reports an error or takes more than {LIMIT_S} s. The
power of growth is that of the upper half of a curve: 1 is linear, and less is better than linear.

![curves](growth.svg)"""),
    "t": Part("Types", measure_types, COST, ("sonde", "pahole", "bpftool"), """
`sonde type` and pahole print structs with offsets and sizes; `bpftool btf dump` prints all types as C. On one CPU."""),
    "o": Part("Beside perf", measure_perf, COST, ("sonde", "perf"), f"""
Work that both can do, each in its own way. The time of the {PERF_CALLS:,} calls is included. perf record only writes the stacks to a file; Sonde counts
and prints them."""),
    "z": Part("Size", measure_sizes, ("size",), BPFTRACES + ("perf", "bpftool", "pahole"), ""),
}
