# SPDX-License-Identifier: GPL-2.0-only
"""Tracers at work: cost per event, printed events, and maps of many keys."""

import contextlib
import math
import os
import signal
import statistics
import time
from collections import namedtuple

from common import ENV, Row, Setup, Spin, Tracer, path_of, program_stats, script_args, take_turns
from scripts import EVENTS

# ---- cost per event ----

ROUNDS = 5  # of all parts here
STRETCHES = 20
CALLS = 4000
PRINTED_CALLS = 400  # few enough for every tool's buffer


def event_cost(cmd, call, spin, is_printed):
    """A sample of a tracer: stretches of calls without it, with it, and with it while the kernel counts the time of its programs."""
    calls = PRINTED_CALLS if is_printed else CALLS
    plain = [spin.run(call, calls) for _ in range(STRETCHES)]
    with Tracer(cmd) as tracer:
        def stretch():
            if not is_printed:
                return spin.run(call, calls)
            # A call that wakes the reader takes up to ten times as long, and whether the reader sleeps is chance. So it is stopped.
            tracer.proc.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, tracer.proc.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            ns = spin.run(call, calls)
            tracer.proc.send_signal(signal.SIGCONT)
            time.sleep(0.003)
            return ns

        def stretch_in_programs():
            before = tracer.total("run_time_ns")
            stretch()
            return (tracer.total("run_time_ns") - before) / calls

        if not tracer.wait_attached(spin, call):
            return None
        traced = [stretch() for _ in range(STRETCHES)]
        with program_stats():
            in_programs = [stretch_in_programs() for _ in range(STRETCHES)]
        sample = {"program": statistics.median(in_programs), "added": statistics.median(traced) - statistics.median(plain),
                  "verified": tracer.total("verified_insns")}
        return sample if tracer.proc.poll() is None else None


def measure_events():
    with Spin() as spin:
        def row(name, title, script, call):
            commands = {**{tool: script_args(tool, script) for tool in Setup.tools}, "hand": [path_of("loader"), path_of("hand.bpf.o"), name]}
            return Row(title, {tool: lambda cmd=cmd: event_cost(cmd, call, spin, "printf" in script) for tool, cmd in commands.items()}, ROUNDS)

        return take_turns([row(*event) for event in EVENTS])


# ---- printed events ----

EACH = 10  # lines for each call, so that making calls does not limit the rate
PRINT_SCRIPT = 't:syscalls:sys_enter_getppid /comm == "spin"/ { unroll(%d) { printf("%%8d %%s\\n", pid, comm); } }' % EACH
LINE_SZ = len("12345678 spin\n")
CPU_RATE = 40_000  # events a second, which every tool prints without loss
FIRST_RATE = 60_000
TRIAL_S = 0.3
LATE_S = 0.05      # a line that is written later than this after the last call counts as lost
SHORT_OF = 0.9     # producers that make less than this part of the rate are at their limit
PRECISION = 0.04

Trial = namedtuple("Trial", "is_kept is_producers_limit rate cpu_ns")


def try_rate(tracer, out, spins, rate):
    """The producers make events at this rate for TRIAL_S; out is the tracer's output."""
    calls = int(rate * TRIAL_S / len(spins) / EACH)
    size_before, cpu_before = os.fstat(out.fileno()).st_size, tracer.cpu_ns()
    for s in spins:
        s.begin("getppid", calls, int(rate / len(spins) / EACH))
    made_rate = 1e9 * EACH * len(spins) / max([s.end() for s in spins])
    time.sleep(LATE_S)
    size, last = os.fstat(out.fileno()).st_size, None
    is_kept = size - size_before == calls * EACH * len(spins) * LINE_SZ
    while not is_kept and size != last:  # What is late must not disturb the next trial.
        time.sleep(0.15)
        size, last = os.fstat(out.fileno()).st_size, size
    cpu_ns = (tracer.cpu_ns() - cpu_before) / max((size - size_before) / LINE_SZ, 1)
    return Trial(is_kept, made_rate < SHORT_OF * rate, made_rate, cpu_ns)


def find_limit(attempt):
    """The trial of the highest rate without loss: steps of a factor of 4 up to the first loss, then bisection. At each rate one of two trials
    must lose nothing."""
    best, rate, step, has_failed = None, FIRST_RATE / 4, 4, False
    while step > 1 + PRECISION and not (best and best.is_producers_limit):
        trial = attempt(rate * step)
        trial = trial if trial.is_kept else attempt(rate * step)
        best, rate = (trial, rate * step) if trial.is_kept else (best, rate)
        has_failed = has_failed or not trial.is_kept
        step = math.sqrt(step) if has_failed else step
    return best


def print_events(tool, producers):
    """A sample of a tracer that prints the calls of so many producers."""
    with contextlib.ExitStack() as stack:
        out = stack.enter_context(open(path_of("printed"), "wb"))
        spins = [stack.enter_context(Spin(i)) for i in range(producers)]
        tracer = stack.enter_context(Tracer(script_args(tool, PRINT_SCRIPT), out, producers=producers))
        if not tracer.wait_attached(spins[0], "getppid"):
            return None
        time.sleep(0.5)
        cpu_ns = statistics.median(try_rate(tracer, out, spins, CPU_RATE).cpu_ns for _ in range(3))
        limit = find_limit(lambda rate: try_rate(tracer, out, spins, rate))
        return limit and {"rate": limit.rate, "print_cpu": cpu_ns, "top_cpu": limit.cpu_ns}


def measure_printed():
    def row(title, producers, tools):
        return Row(title, {tool: lambda tool=tool: print_events(tool, producers) for tool in tools if tool in Setup.tools}, ROUNDS)

    return take_turns([row("one producer", 1, ("sonde", "new", "old")), row("two producers", 2, ("sonde", "new"))])


# ---- maps ----

MANY_KEYS_ENV = dict(ENV, BPFTRACE_MAP_KEYS_MAX="1048576", BPFTRACE_MAX_MAP_KEYS="1048576")  # the name in 0.17, and today's
FILL = "t:syscalls:sys_enter_close /args->fd >= 2000000/ { @[args->fd] = args->fd ^ 0x5a5a5; } "
TOP = "config = { print_maps_on_exit = 0 } " + FILL + "END { print(@, 10); }"
OLD_TOP = FILL + "END { print(@, 10); clear(@); }"  # 0.17 lacks the setting


def print_map(tool, script, keys, spin):
    """A sample of ending a tracer whose map has so many keys."""
    with open(path_of("map"), "wb") as out, Tracer(script_args(tool, script), out, MANY_KEYS_ENV, producers=0) as tracer:
        if not tracer.wait_attached(spin, "close"):
            return None
        spin.run("close", keys)
        cost = tracer.stop()
    with open(path_of("map"), "rb") as f:
        return cost if f.read().count(b"@[") >= (10 if "END" in script else keys) else None


def measure_maps():
    keys = 100_000 if Setup.is_quick else 1_000_000
    with Spin() as spin:
        def row(title, script, old_script):
            takers = {tool: lambda tool=tool: print_map(tool, old_script if tool == "old" else script, keys, spin) for tool in Setup.tools}
            return Row(f"{keys:,} keys: {title}", takers, ROUNDS)

        return take_turns([row("print all, sorted by value", FILL, FILL), row("print the top 10", TOP, OLD_TOP)])
