"""What the parts of the benchmark share: running commands and tracers, and writing tables."""

import contextlib
import math
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
import time

ENV = dict(os.environ, LC_ALL="C", BPFTRACE_MAX_PROBES="100000", BPFTRACE_MAX_BPF_PROGS="100000")
# Where maps get many keys. The name of old, and the one of today.
MANY_KEYS_ENV = dict(ENV, BPFTRACE_MAP_KEYS_MAX="1048576", BPFTRACE_MAX_MAP_KEYS="1048576")


class Setup:
    """Filled by measure.py from the command line: the tools, by name, and where things are."""
    tools = {}      # name -> words of the command, before -e
    titles = {}     # name -> how tables call it
    sonde = launch = mood = spin = hand = loader = scratch = ""
    is_quick = False


def say(text):
    print(f"bench: {time.monotonic() - START:4.0f} s  {text}", file=sys.stderr, flush=True)


START = time.monotonic()


def quartile(values):
    """A quarter is less. Where what disturbs only adds, this is steadier than the median; and no single lucky value counts, as in the minimum."""
    return sorted(values)[len(values) // 4]


CPUS = sorted(os.sched_getaffinity(0))


def on_cpus(cpus):
    """What subprocess is to call in the child, so that it runs there only, with all its threads; None: anywhere."""
    return (lambda: os.sched_setaffinity(0, cpus)) if cpus else None


# ---- what other machines on the same hardware take away ----

class Mood:
    """The answers of bench/mood.c: how long its loop takes on each CPU, in ns. It tells how slow the machine is at a moment, or was meanwhile."""
    best = float("inf")  # of all answers, over the whole run
    OFTEN_MS = 2

    def __init__(self, cpus=None):
        self.cpus = cpus or CPUS
        self.proc = subprocess.Popen([Setup.mood], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, preexec_fn=on_cpus(self.cpus))

    def ask(self, period_ms=0, cpus=None):
        """The mean since it was asked last. From now on the loop runs that often, or only when it is asked."""
        self.proc.stdin.write(f"{period_ms}\n")
        answer = dict(zip(self.cpus, map(float, self.proc.stdout.readline().split())))
        Mood.best = min(Mood.best, *answer.values())
        return statistics.mean(answer[cpu] for cpu in cpus or self.cpus)

    def during(self, fn, period_ms=0, cpus=None):
        """(what fn() returns, the mood meanwhile)"""
        self.ask(period_ms)
        return fn(), self.ask(cpus=cpus)

    def stop(self):
        self.proc.stdin.close()
        self.proc.wait()


def middle(values):
    """The mean of the middle half. Waiting for the kernel takes one of a few times, and of those the median is now this and now that."""
    values = sorted(values)
    cut = len(values) // 4
    return statistics.mean(values[cut:len(values) - cut])


class Samples:
    """Values, and the mood in which each was taken: what they would be on a machine of its own. The mood is what a fixed piece of work took, best() is how
    long it takes at best."""
    CALM = 1.05
    WORST = 2.0  # beyond, the CPU was taken away in the middle of the work that tells the mood
    ENOUGH = 12

    def __init__(self, best=lambda: Mood.best):
        self.best = best
        self.all = []  # (value, mood, share that computes)

    def add(self, value, mood, share=1.0):
        self.all.append((value, mood, share))

    @property
    def calm(self):
        """For short ones, of which some have the best mood: only these count. Of them, what disturbs only adds."""
        limit = self.CALM * self.best()
        calmest_first = sorted(self.all, key=lambda sample: sample[1])
        return quartile([value for i, (value, mood, _) in enumerate(calmest_first) if i < self.ENOUGH or mood <= limit])

    def with_slowness(self):
        """(value, how many times slower than at best the machine was)"""
        best = self.best()
        return [(value, min(mood / best, self.WORST)) for value, mood, _ in self.all]

    @property
    def slowed(self):
        """By which power of the slowness they grow, 0 to 1: what waits for memory or for another CPU suffers less than what computes. A line through the
        logarithms tells, for which there must be many in several moods."""
        values, slowness = ([math.log(x) for x in column] for column in zip(*self.with_slowness()))
        if max(slowness) == min(slowness):
            return 1.0
        return min(1.0, max(0.0, statistics.linear_regression(slowness, values).slope))

    def in_best_mood(self, power):
        """What they would be, when they grow by that power of the slowness."""
        return middle([value / slowness ** power for value, slowness in self.with_slowness()])

    @property
    def corrected(self):
        """For long ones: each is divided by how much slower the machine was, as far as it computed. That is right for most programs within a few per cent."""
        best = self.best()
        return middle([value * (1 - share + share * best / mood) for value, mood, share in self.all])


# ---- commands: wall time, processor time, memory ----

nothing_ns = []  # what a program took that ends at once, whenever launch.c tried


class Cost:
    """Over the runs of one command: ms, ms, MB. What does little is mostly the kernel's work of starting and ending a program; for that, doing nothing but
    that is what tells the mood."""

    def __init__(self, is_little=False):
        best = {"best": lambda: sorted(nothing_ns)[len(nothing_ns) // 20]} if is_little else {}
        self.walls, self.cpus, self.sizes = Samples(**best), Samples(**best), []

    def add(self, wall_ns, cpu_us, rss_kb, mood):
        self.walls.add(wall_ns / 1e6, mood, min(1, cpu_us * 1e3 / wall_ns))
        self.cpus.add(cpu_us / 1e3, mood)
        self.sizes.append(rss_kb / 1024)

    wall = property(lambda self: self.walls.corrected)
    cpu = property(lambda self: self.cpus.corrected)
    rss = property(lambda self: statistics.median(self.sizes))

    def __str__(self):
        return f"{num(self.wall)} / {num(self.cpu)} / {num(self.rss)}"


def run_once(cmd, limit=120, cpus=None):
    """(wall ns, CPU µs, RSS KiB, wall ns of doing nothing), or None when the command failed or took too long."""
    # In a group of its own, so that nothing of it goes on when it took too long.
    with subprocess.Popen([Setup.launch] + cmd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                          preexec_fn=on_cpus(cpus)) as proc:
        try:
            text, _ = proc.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)
            return None
    wall, cpu, rss, status, nothing = map(int, text.split())
    if status != 0:
        say(f"status {status} of: {shlex.join(cmd)[:200]}")
        return None
    nothing_ns.append(nothing)
    return wall, cpu, rss, nothing


LITTLE_US = 5000  # of CPU time: most of it is the start and the end of the program
REST_ABOVE_NS, REST_S = 3e6, 0.04
ROUND_NS = 400e6  # a command that is over sooner runs several times in each round: some wait for the kernel, now long, now short
MOST_IN_ROUND = 25


def compare(rows, rounds, limit=120, cpus=None):
    """The rows of a table, each name -> argv or (argv, how many of the rounds it takes part in). Commands take turns, so that they share the machine's
    moods, and so do rows: the runs of a quick command would all be in one mood, if they were in a row. What fails is left out. Returns a dict of Cost
    for each row. With cpus they run there only, and the mood of no other counts."""
    rows = [{name: c if isinstance(c, tuple) else (c, rounds) for name, c in commands.items() if c} for commands in rows]
    # The first run warms the caches. What takes long is not run for that.
    firsts = [{name: first_cost(cmd, limit, cpus) if cnt > 2 else LONG for name, (cmd, cnt) in commands.items()} for commands in rows]
    costs = [{} for _ in rows]
    mood = Mood()
    for i in range(rounds):
        for commands, first, found in zip(rows, firsts, costs):
            # Those of few rounds have them spread over all.
            taking_part = {name: max(1, min(MOST_IN_ROUND, int(ROUND_NS / first[name][0])))
                           for name, (_, cnt) in commands.items() if first[name] and times_due(i, cnt, rounds)}
            for name in alternating(taking_part):
                (wall, cpu, *_), cmd = first[name], commands[name][0]
                is_little = cpu < LITTLE_US
                if wall > REST_ABOVE_NS:
                    # What the kernel has to free of the one before is done then, which one would wait for; and it begins at any moment between two ticks.
                    time.sleep(REST_S + random.uniform(0, 0.01))
                if is_little:
                    got = run_once(cmd, limit, cpus)
                else:
                    got, was = mood.during(lambda cmd=cmd: run_once(cmd, limit, cpus), Mood.OFTEN_MS, cpus)
                if got:
                    found.setdefault(name, Cost(is_little)).add(*got[:3], got[3] if is_little else was)
    mood.stop()
    return costs


def times_due(i, cnt, total):
    """How many of cnt fall on turn i, when they are spread over total turns; a single one is in the middle."""
    return ((i + 1) * cnt + total // 2) // total - (i * cnt + total // 2) // total


def alternating(counts):
    """Each name as often as it says, one by one in turn: two commands that take a millisecond are compared in the same moment."""
    most = max(counts.values(), default=0)
    return [name for i in range(most) for name, cnt in counts.items() if times_due(i, cnt, most)]


LONG = (float("inf"), float("inf"))


def first_cost(cmd, limit, cpus):
    """What run_once() returns. Of two runs, the second: what the first has to read from the disk is no matter of the command's."""
    return run_once(cmd, limit, cpus) and run_once(cmd, limit, cpus)


def script_args(tool, script):
    return Setup.tools[tool] + ["-e", script]


# ---- a tracer that runs while something is traced ----

def cpus_beside(producers):
    """Those which that many of Spin leave free, None when there are none. A tracer on them has the way to the producer that it always has."""
    return CPUS[:-producers] or None


STATS = "/proc/sys/kernel/bpf_stats_enabled"  # bench/run puts it back


@contextlib.contextmanager
def program_stats():
    """While this is on, the kernel counts runs and time of BPF programs, and reads the clock twice for each run. Nobody else pays that."""
    def switch(text):
        with open(STATS, "w") as f:
            f.write(text)

    switch("1")
    try:
        yield
    finally:
        switch("0")


class Spin:
    """The program that makes system calls, kept running, on a CPU of its own: the last, or that many before it."""

    def __init__(self, before=0):
        self.cpus = [CPUS[-1 - before % len(CPUS)]]
        self.proc = subprocess.Popen([Setup.spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, preexec_fn=on_cpus(self.cpus))

    def begin(self, call, cnt, rate=0):
        self.proc.stdin.write(f"{call} {cnt} {rate}\n")

    def end(self):
        return float(self.proc.stdout.readline().split()[0])

    def run(self, call, cnt, rate=0):
        """Nanoseconds that a call took."""
        self.begin(call, cnt, rate)
        return self.end()

    def stop(self):
        self.proc.stdin.close()
        self.proc.wait()


SYSCALL_PROG = "31"  # BPF_PROG_TYPE_SYSCALL: what a tool runs for itself, not by an event


class Tracer:
    def __init__(self, cmd, out=subprocess.DEVNULL, env=None, cpus=None, pass_fds=()):
        self.cpus = cpus  # where it runs, None for anywhere
        self.proc = subprocess.Popen(cmd, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=env or ENV, preexec_fn=on_cpus(cpus),
                                     pass_fds=pass_fds)

    def programs(self):
        """What the kernel says of the programs that the tracer holds, by id."""
        found = {}
        base = f"/proc/{self.proc.pid}/fdinfo"
        try:
            fds = os.listdir(base)
        except OSError:
            return {}
        for fd in fds:
            try:
                with open(f"{base}/{fd}") as f:
                    info = dict(line.split(":", 1) for line in f if ":" in line)
            except OSError:
                continue
            if "run_cnt" in info and info["prog_type"].strip() != SYSCALL_PROG:
                found[int(info["prog_id"])] = {k: int(info[k]) for k in ("run_time_ns", "run_cnt", "verified_insns")}
        return found

    def wait_attached(self, spin, call, limit=60):
        """True when a program of its sees calls."""
        deadline = time.monotonic() + limit
        with program_stats():
            while time.monotonic() < deadline and self.proc.poll() is None:
                before = self.programs()
                spin.run(call, 200)
                after = self.programs()
                if any(p["run_cnt"] - before.get(i, p)["run_cnt"] >= 200 for i, p in after.items()):
                    return True
                time.sleep(0.02)
        return False

    @contextlib.contextmanager
    def held(self):
        """Its programs go on; it does not run."""
        self.proc.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.proc.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            yield
        finally:
            self.proc.send_signal(signal.SIGCONT)

    def cpu_ns(self):
        total = 0
        for tid in os.listdir(f"/proc/{self.proc.pid}/task"):
            with open(f"/proc/{self.proc.pid}/task/{tid}/schedstat") as f:
                total += int(f.read().split()[0])
        return total

    def peak_mb(self):
        try:
            with open(f"/proc/{self.proc.pid}/status") as f:
                for line in f:
                    if line.startswith("VmHWM:"):
                        return int(line.split()[1]) / 1024
        except OSError:
            pass
        return 0

    def stop(self, limit=60):
        """Ends it; (seconds until it had ended, its largest resident set in MB)."""
        start, peak = time.monotonic(), self.peak_mb()
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGINT)
        while self.proc.poll() is None:
            peak = max(peak, self.peak_mb())
            if time.monotonic() - start > limit:
                self.proc.kill()
                self.proc.wait()
                return None, peak
            time.sleep(0.002)
        return time.monotonic() - start, peak


# ---- text ----

def num(x, unit=""):
    if x is None:
        return "–"
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    return f"{x:,.{digits}f}{unit}"


def ratio(a, b):
    if not a or not b:
        return "–"
    r = a / b
    return f"{r:.2f}" if r >= 0.2 else f"{r:#.3g}"


def times(x):
    return f"{x:,.0f} ×" if x >= 10 else f"{x:.1f} ×"


def geometric_mean(values):
    """None where noise left nothing, or less than nothing, to compare."""
    return statistics.geometric_mean(values) if values and min(values) > 0 else None


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for r in rows:
        print("| " + " | ".join(str(c) for c in r) + " |")
    print()
