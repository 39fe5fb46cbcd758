"""What the parts of the benchmark share: running commands and tracers, and writing tables."""

import contextlib
import os
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
    sonde = launch = spin = hand = loader = scratch = ""
    is_quick = False


def say(text):
    print(f"bench: {time.monotonic() - START:4.0f} s  {text}", file=sys.stderr, flush=True)


START = time.monotonic()


# ---- commands: wall time, processor time, memory ----

def quartile(values):
    """A quarter is less. Where what disturbs only adds, this is steadier than the median; and no single lucky value counts, as in the minimum."""
    return sorted(values)[len(values) // 4]


def decile(values):
    """A tenth is less; of fewer than ten it is the least."""
    return sorted(values)[len(values) // 10]


MOSTLY = 0.7  # of the wall time


class Cost:
    """Over the runs of one command: ms, ms, MB. CPU time is only added to by what disturbs, and so is the wall time of a command that computes most of
    the time. A machine that is shared has slow moods: all of its CPUs take up to half as long again, for seconds, small programs more than large ones.
    How much of a measurement they take differs, and may be three quarters; so the lower decile is taken, which is of the good mood as long as that
    comes at all. Waiting for the kernel takes now longer and now shorter, in steps of its clock, whatever the mood: there the middle is what is steady."""

    def __init__(self):
        self.runs = []

    def add(self, wall_ns, cpu_us, rss_kb):
        self.runs.append((wall_ns / 1e6, cpu_us / 1e3, rss_kb / 1024))

    @property
    def wall(self):
        is_computing = statistics.median(r[1] / r[0] for r in self.runs) > MOSTLY
        return decile([r[0] for r in self.runs]) if is_computing else self.median_wall

    median_wall = property(lambda self: statistics.median(r[0] for r in self.runs))
    cpu = property(lambda self: decile([r[1] for r in self.runs]))
    rss = property(lambda self: statistics.median(r[2] for r in self.runs))

    def __str__(self):
        return f"{num(self.wall)} / {num(self.cpu)} / {num(self.rss)}"


def run_once(cmd, limit=120):
    """(wall ns, CPU µs, RSS KiB), or None when the command failed or took too long."""
    # In a group of its own, so that nothing of it goes on when it took too long.
    with subprocess.Popen([Setup.launch] + cmd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as proc:
        try:
            text, _ = proc.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(proc.pid, signal.SIGKILL)
            return None
    wall, cpu, rss, status = map(int, text.split())
    if status != 0:
        say(f"status {status} of: {shlex.join(cmd)[:200]}")
        return None
    return wall, cpu, rss


ROUND_NS = 400e6  # a command that is over sooner runs several times in each round: some wait for the kernel, now long, now short
MOST_IN_ROUND = 25


def compare(rows, rounds, limit=120):
    """The rows of a table, each name -> argv or (argv, how many of the rounds it takes part in). Commands take turns, so that they share the machine's
    moods, and so do rows: the runs of a quick command would all be in one mood, if they were in a row. What fails is left out. Returns a dict of Cost
    for each row."""
    rows = [{name: c if isinstance(c, tuple) else (c, rounds) for name, c in commands.items() if c} for commands in rows]
    in_round = [{name: runs_in_round(cmd, limit) if cnt > 2 else 1 for name, (cmd, cnt) in commands.items()} for commands in rows]
    costs = [{} for _ in rows]
    for i in range(rounds):
        for commands, counts, found in zip(rows, in_round, costs):
            # Those of few rounds have them spread over all.
            taking_part = {name: counts[name] for name, (_, cnt) in commands.items() if is_due(i, cnt, rounds)}
            for name in alternating(taking_part):
                got = run_once(commands[name][0], limit)
                if got:
                    found.setdefault(name, Cost()).add(*got)
    return costs


def is_due(i, cnt, total):
    """Whether it is one of cnt that are spread over total."""
    return (i + 1) * cnt // total > i * cnt // total


def alternating(counts):
    """Each name as often as it says, one by one in turn: two commands that take a millisecond are compared in the same moment."""
    most = max(counts.values(), default=0)
    return [name for i in range(most) for name, cnt in counts.items() if is_due(i, cnt, most)]


def runs_in_round(cmd, limit):
    """How often the command is to run in each of its rounds: never, when it fails. Warms the caches, too."""
    got = run_once(cmd, limit)
    return max(1, min(MOST_IN_ROUND, int(ROUND_NS / got[0]))) if got else 0


def script_args(tool, script):
    return Setup.tools[tool] + ["-e", script]


# ---- a tracer that runs while something is traced ----

CPUS = sorted(os.sched_getaffinity(0))


def on_cpus(cpus):
    """What subprocess is to call in the child, so that it runs there only, with all its threads; None: anywhere."""
    return (lambda: os.sched_setaffinity(0, cpus)) if cpus else None


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
        self.proc = subprocess.Popen([Setup.spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                     preexec_fn=on_cpus([CPUS[-1 - before % len(CPUS)]]))

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
