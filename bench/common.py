# SPDX-License-Identifier: GPL-2.0-only
"""Runs what is measured: rounds in which the tools take turns, commands, tracers, and the program that they trace."""

import contextlib
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import namedtuple

ENV = dict(os.environ, LC_ALL="C", BPFTRACE_MAX_PROBES="100000", BPFTRACE_MAX_BPF_PROGS="100000")
CPUS = sorted(os.sched_getaffinity(0))
START = time.monotonic()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves all blocks, which ends the tracers
LIMIT_S = 60       # for one command
QUICK_ROUNDS = 2
FEW_ROUNDS = 3     # for rows with peers that take many seconds; --quick leaves these peers out


class Setup:
    """Filled by measure.py from the command line."""
    tools = {}   # "sonde", "new", "old" -> words of the command, before -e
    titles = {}  # tool -> its name in tables
    sonde = folder = ""
    ply = []     # words of the command
    is_quick = False


def say(text):
    print(f"bench: {time.monotonic() - START:4.0f} s  {text}", file=sys.stderr, flush=True)


def script_args(tool, script):
    return Setup.tools[tool] + ["-e", script]


def path_of(name):
    """A file of this run: one of its programs, or scratch data."""
    return os.path.join(Setup.folder, name)


def write_file(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


# ---- rounds ----

# takers: tool -> a function that takes one sample, {metric: value}, or returns None when the tool failed.
Row = namedtuple("Row", "title takers rounds")


def take_turns(rows):
    """{title: {tool: {metric: [a sample for each round]}}}. One round runs each tool of each row once. A row with fewer rounds than others has
    them spread evenly. A tool that fails has no samples, and does not run again."""
    if Setup.is_quick:
        rows = [Row(r.title, {t: fn for t, fn in r.takers.items() if t == "sonde" or r.rounds > FEW_ROUNDS}, QUICK_ROUNDS) for r in rows]
    found = {row.title: {tool: {} for tool in row.takers} for row in rows}
    total = max(row.rounds for row in rows)
    for i in range(total):
        for row in rows:
            if i * row.rounds % total < row.rounds:
                say(f"round {i + 1} of {total}: {row.title}")
                take_round(row.takers, found[row.title])
    return found


def take_round(takers, found):
    for tool in list(takers):
        write_file(path_of("messages"), "")
        try:
            sample = takers[tool]()
        except (OSError, ValueError) as e:  # The tool or spin has ended.
            sample = say(str(e))
        for metric, value in (sample or {}).items():
            found[tool].setdefault(metric, []).append(value)
        if sample is None:
            with open(path_of("messages")) as f:
                say(f"{tool} failed: {f.read()[-500:]}")
            found[tool].clear()
            del takers[tool]


# ---- commands ----

def on_cpus(cpus):
    """For preexec_fn: the child and its threads run on these CPUs only; an empty list: on any."""
    return (lambda: os.sched_setaffinity(0, cpus)) if cpus else None


def run_command(cmd, cpus=None):
    """A sample of what a command costs."""
    time.sleep(0.02)  # The kernel frees what the command before left.
    # In a process group of its own, so that a time-out ends its children too.
    with subprocess.Popen([path_of("launch")] + cmd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                          preexec_fn=on_cpus(cpus)) as proc:
        try:
            return parse_cost(proc.communicate(timeout=LIMIT_S)[0].split()) or say(f"failed: {shlex.join(cmd)[:200]}")
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)
    return None


def parse_cost(words):
    """What bench/launch.c prints; None when the command failed."""
    if len(words) != 4 or words[3] != "0":
        return None
    return {"wall": int(words[0]) / 1e6, "cpu": int(words[1]) / 1e3, "memory": int(words[2]) / 1024}


def command_row(title, commands, rounds, cpus=None):
    """A Row of commands, tool -> words."""
    for cmd in commands.values() if rounds > FEW_ROUNDS else ():
        run_command(cmd, cpus)  # reads the tool's files into the page cache
    return Row(title, {tool: lambda cmd=cmd: run_command(cmd, cpus) for tool, cmd in commands.items()}, rounds)


# ---- tracers ----

STATS = "/proc/sys/kernel/bpf_stats_enabled"  # bench/run restores it


@contextlib.contextmanager
def program_stats():
    """While this is on, the kernel counts runs and time of BPF programs, which takes two clock reads a run."""
    write_file(STATS, "1")
    try:
        yield
    finally:
        write_file(STATS, "0")


class Spin(contextlib.AbstractContextManager):
    """bench/spin.c, which makes system calls, on a CPU of its own: the last one, or the one that many places before it."""

    def __init__(self, before=0):
        cpus = [CPUS[-1 - before % len(CPUS)]]
        self.proc = subprocess.Popen([path_of("spin")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, preexec_fn=on_cpus(cpus))

    def __exit__(self, *_):
        self.proc.stdin.close()
        self.proc.wait()

    def begin(self, call, cnt, rate=0):
        self.proc.stdin.write(f"{call} {cnt} {rate}\n")

    def end(self):
        """Nanoseconds per call."""
        return float(self.proc.stdout.readline())

    def run(self, call, cnt):
        self.begin(call, cnt)
        return self.end()


class Tracer(contextlib.AbstractContextManager):
    """A tool that runs while calls are traced, on the CPUs that so many of Spin leave free."""

    def __init__(self, cmd, out=subprocess.DEVNULL, env=None, producers=1):
        with open(path_of("messages"), "w") as messages:
            self.proc = subprocess.Popen(cmd, stdout=out, stderr=messages, stdin=subprocess.DEVNULL, env=env or ENV, preexec_fn=on_cpus(CPUS[:-producers]))

    def __exit__(self, *_):
        self.stop(again_s=5)

    def read(self, pattern, files):
        """What a regular expression finds in each of these files of /proc/PID."""
        found = []
        for path in glob.glob(f"/proc/{self.proc.pid}/{files}"):
            with contextlib.suppress(OSError), open(path) as f:
                found.append(re.findall(pattern, f.read(), re.M))
        return found

    def total(self, key):
        """Over its BPF programs: run_time_ns, run_cnt or verified_insns."""
        programs = {info["prog_id"]: info for info in map(dict, self.read(r"^(\w+):\s*(\S+)", "fdinfo/*")) if "run_cnt" in info}
        return sum(int(info[key]) for info in programs.values() if info["prog_type"] != "31")  # BPF_PROG_TYPE_SYSCALL, which no event runs

    def cpu_ns(self):
        return sum(int(found[0]) for found in self.read(r"^\d+", "task/*/schedstat"))

    def wait_attached(self, spin, call):
        """True once its programs see the calls."""
        deadline = time.monotonic() + LIMIT_S
        with program_stats():
            while time.monotonic() < deadline and self.proc.poll() is None:
                before = self.total("run_cnt")
                spin.run(call, 200)
                if self.total("run_cnt") - before >= 200:
                    return True
                time.sleep(0.02)
        return False

    def stop(self, again_s=LIMIT_S):
        """Ends it with SIGINT. A sample from the signal to the end of the process; None when it had to be killed."""
        start, signals, peak_kb = time.monotonic(), 0, 0
        while self.proc.poll() is None:
            if time.monotonic() - start >= again_s * signals:  # bpftrace 0.17 now and then misses a signal.
                self.proc.send_signal(signal.SIGINT if signals < 2 else signal.SIGKILL)
                signals += 1
            peak_kb = max([peak_kb, *(int(kb) for found in self.read(r"^VmHWM:\s*(\d+)", "status") for kb in found)])
            time.sleep(0.002)
        return {"wall": (time.monotonic() - start) * 1e3, "memory": peak_kb / 1024} if signals < 3 else None
