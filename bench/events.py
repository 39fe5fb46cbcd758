"""Cost per event, and instructions: Sonde beside both bpftraces and C that was written and compiled by hand."""

import os
import re
import struct
import subprocess
import tempfile
import time

from common import ENV, Mood, Samples, Setup, Spin, Tracer, cpus_beside, geometric_mean, num, program_stats, ratio, say, script_args, table
from scripts import EVENTS, ONE_LINERS


class EventCost:
    """Of many short stretches."""

    def __init__(self, is_printed, plain_calls=None):
        self.is_printed = is_printed
        self.programs, self.calls = Samples(), Samples()  # ns of the programs for a call, and of a call
        self.plain_calls = plain_calls or Samples()  # of calls without a tracer; tools that are compared have these together
        self.verified = 0

    def __str__(self):
        return f"{num(self.ns)} / {num(self.added)}"

    ns = property(lambda self: self.programs.calm)
    added = property(lambda self: self.calls.calm - self.plain_calls.calm)


def stretches(is_printed):
    """How many stretches of how many calls. Where each call prints, so few in a row that every buffer has room for them."""
    return (70, 400) if is_printed else (40, 4000)


def measure_one(start, call, cost, spin, mood):
    """One turn of a tool, which start(cpus) starts: stretches without it, then with it; of these some with the kernel's statistics, for the time of the programs, and
    some without, for what a call takes."""
    cnt, calls = stretches(cost.is_printed)

    def stretch_alone():
        """(ns of a call, the mood meanwhile)"""
        return mood.during(lambda: spin.run(call, calls), cpus=spin.cpus)

    for _ in range(cnt):
        cost.plain_calls.add(*stretch_alone())
    tracer = start(cpus_beside(1))

    def stretch():
        if not cost.is_printed:
            return stretch_alone()
        # Whether the reader has gone to sleep again, and has to be woken, is a matter of luck, and costs up to ten times what the program does. So it is held.
        with tracer.held():
            got = stretch_alone()
        time.sleep(0.003)
        return got

    try:
        if not tracer.wait_attached(spin, call):
            return False
        with program_stats():
            for _ in range(cnt):
                before = tracer.programs()
                _, was = stretch()
                after = tracer.programs()
                # All programs of a script together, over the calls that were made.
                cost.programs.add(sum(after[i]["run_time_ns"] - before[i]["run_time_ns"] for i in after if i in before) / calls, was)
        cost.verified = sum(p["verified_insns"] for p in after.values())
        for _ in range(cnt):
            cost.calls.add(*stretch())
        return True
    finally:
        tracer.stop()


def measure_events():
    """[(what, {tool: EventCost})]"""
    rows = []
    spin, mood = Spin(), Mood()
    for name, what, script, call in EVENTS:
        say("cost per event: " + what)
        commands = {tool: script_args(tool, script) for tool in Setup.tools}
        if Setup.loader:
            commands["hand"] = [Setup.loader, os.path.join(Setup.hand, name + ".bpf.o")]
        plain_calls = Samples()
        is_printed = "printf" in script
        costs = {tool: EventCost(is_printed, plain_calls) for tool in commands}
        # What prints depends on where the kernel gave it memory, so it starts more often.
        for _ in range(2 if Setup.is_quick else 12 if is_printed else 8):
            for tool, cmd in commands.items():
                if tool in costs and not measure_one(lambda cpus, cmd=cmd: Tracer(cmd, cpus=cpus), call, costs[tool], spin, mood):
                    say(f"{tool}: no events")
                    del costs[tool]
        rows.append((what, costs))
    spin.stop()
    mood.stop()
    return rows


BASE = EVENTS[0][1]  # the empty script: what is there whatever a script does, no part of the goals and means


def event_ratios(rows, other, field="ns"):
    return {what: getattr(c["sonde"], field) / getattr(c[other], field) for what, c in rows if what != BASE and "sonde" in c and other in c}


def show_events(rows):
    print("## Cost per event\n")
    print("System calls in a loop; nanoseconds spent in the BPF programs, as the kernel counts them with two clock reads of its own for each run / nanoseconds that "
          "tracing adds to the call, measured while that counting is off, so that the clock reads are not in it. Many short stretches, with and without the "
          "tracer, the tools in turn, the caller and the tracer each on a CPU of its own; where each call prints, the reader is held for a moment, so that waking it is in no figure (what reading "
          "costs is below, at *Printed events*). *By hand* is C with "
          "the maps one would take (`bench/hand`) and the same clock, compiled by clang -O2, on the same tracepoints. Sonde's program is on the raw "
          "tracepoint of all system calls and selects the one it wants itself: that is counted as the program's, while the kernel's longer way to "
          "the others' programs is in the second figure only. The first row is the base line, no part of the goals and means.\n")
    tools = [t for t in ("sonde", "new", "old", "hand") if any(t in c for _, c in rows)]
    others = tools[1:]
    table(["`t:syscalls:…`"] + [Setup.titles[t] for t in tools] + [f"÷ {Setup.titles[t]}" for t in others],
          [[what] + [str(c.get(t, "–")) for t in tools]
           + [f"{ratio(c['sonde'].ns, c[t].ns)} / {ratio(c['sonde'].added, c[t].added)}" if t in c else "–" for t in others]
           for what, c in rows]
          + [["geometric mean"] + [""] * len(tools)
             + [f"{num(geometric_mean(list(event_ratios(rows, t).values())))} / {num(geometric_mean(list(event_ratios(rows, t, 'added').values())))}"
                for t in others]])


# ---- instructions ----

def elf_insns(path):
    """Bytes of the program sections of an ELF file in instructions of 8 bytes."""
    with open(path, "rb") as f:
        elf = f.read()
    shoff, = struct.unpack_from("<Q", elf, 0x28)
    shentsize, shnum, _ = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, shoff + i * shentsize) for i in range(shnum)]
    return sum(size // 8 for _, kind, flags, _, _, size, *_ in heads if kind == 1 and flags & 4) or None


def old_bpftrace_insns(script):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "prog.o")
        subprocess.run(script_args("old", script) + ["--emit-elf", path], env=ENV, capture_output=True, timeout=60)
        return elf_insns(path) if os.path.exists(path) else None


def new_bpftrace_insns(script):
    """What its libbpf finds in the file that it makes."""
    r = subprocess.run(Setup.tools["new"] + ["-d", "libbpf", "--dry-run", "-e", script], env=ENV, capture_output=True, text=True, timeout=60)
    found = re.findall(r"found program '[^']*' at insn offset .* code size (\d+) insns", r.stdout + r.stderr)
    return sum(map(int, found)) or None


def sonde_insns(script):
    text = subprocess.run([Setup.sonde, "-d", "bpf", "-e", script], capture_output=True, text=True).stdout
    found = re.findall(r"^prog .*\((\d+) instructions", text, re.M)
    return sum(map(int, found)) or None


COUNTERS = {"sonde": sonde_insns, "new": new_bpftrace_insns, "old": old_bpftrace_insns}


def measure_insns(events):
    """[(what, script, {tool: emitted}, {tool: verified})]"""
    say("instructions")
    verified = {what: {tool: c.verified for tool, c in costs.items()} for what, costs in events}
    rows = []
    for what, script in ONE_LINERS if not Setup.is_quick else []:
        rows.append((what, script, {t: COUNTERS[t](script) for t in Setup.tools}, {}))
    for name, what, script, _ in EVENTS:
        emitted = {t: COUNTERS[t](script) for t in Setup.tools}
        if Setup.loader:
            emitted["hand"] = elf_insns(os.path.join(Setup.hand, name + ".bpf.o"))
        rows.append((what, script, emitted, verified[what]))
    return rows


def insn_ratios(rows, other, kind):
    """kind: emitted or verified"""
    counts = {what: {"emitted": e, "verified": v}[kind] for what, _, e, v in rows if what != BASE}
    return {what: c["sonde"] / c[other] for what, c in counts.items() if c.get("sonde") and c.get(other)}


def show_insns(rows):
    print("## Instructions\n")
    print("BPF instructions handed to the kernel, all programs of the script together, and those that its verifier walked. Sonde's include what "
          "bpftrace has no code for: finding the slot of a key, where bpftrace calls a helper that takes longer; counting an update that did not fit a full map; going on when "
          f"another CPU inserted the same key first; choosing the system call on the raw tracepoint. The last is all there is in *{BASE}*, the base line, which is no part of the "
          "goals.\n")
    tools = [t for t in ("sonde", "new", "old", "hand") if any(e.get(t) for _, _, e, _ in rows)]
    peers = [t for t in tools[1:] if t != "hand"]

    def cell(e, v, t):
        return f"{e.get(t) or '–'}" + (f" / {v[t]}" if v.get(t) else "")

    table(["emitted / verified"] + [Setup.titles[t] for t in tools] + [f"÷ {Setup.titles[t]}" for t in peers],
          [[what] + [cell(e, v, t) for t in tools]
           + [ratio(e.get("sonde"), e.get(t)) + (f" / {ratio(v['sonde'], v[t])}" if v.get("sonde") and v.get(t) else "") for t in peers]
           for what, _, e, v in rows])
