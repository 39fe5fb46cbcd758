"""Measures and prints the tables of docs/benchmarks.md. Started by bench/run."""

import argparse
import os
import re
import shlex
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

p = argparse.ArgumentParser()
p.add_argument("--sonde", required=True)
p.add_argument("--tools", required=True, help="folder of launch and spin")
p.add_argument("--ply", help="command that runs ply")
p.add_argument("--ply-version", default="")
p.add_argument("--quick", action="store_true")
opts = p.parse_args()

LAUNCH = os.path.join(opts.tools, "launch")
SPIN = os.path.join(opts.tools, "spin")
BPFTRACE = "bpftrace"
ENV = dict(os.environ, BPFTRACE_MAX_PROBES="2000", LC_ALL="C")
out = print


def say(text):
    print("bench: " + text, file=sys.stderr)


# ---- commands: wall time, processor time, memory ----

class Cost:
    """Medians over the runs of one command."""

    def __init__(self):
        self.runs = []

    def add(self, wall_ns, cpu_us, rss_kb):
        self.runs.append((wall_ns / 1e6, cpu_us / 1e3, rss_kb / 1024))

    def __bool__(self):
        return bool(self.runs)

    def median(self, i):
        return statistics.median(r[i] for r in self.runs)

    wall = property(lambda self: self.median(0))
    cpu = property(lambda self: self.median(1))
    rss = property(lambda self: self.median(2))


def run_once(cmd, cost):
    text = subprocess.run([LAUNCH] + cmd, env=ENV, capture_output=True, text=True, check=True).stdout
    wall, cpu, rss, status = map(int, text.split())
    if status != 0:
        sys.exit(f"bench: status {status} of: {shlex.join(cmd)}")
    if cost is not None:
        cost.add(wall, cpu, rss)


def compare(commands, rounds):
    """commands: name -> (argv, how many of the rounds it takes part in). The tools take turns, so that they share the machine's moods."""
    costs = {name: Cost() for name in commands}
    for name, (cmd, cnt) in commands.items():
        if cnt > 2:
            run_once(cmd, None)  # warms the caches
    for i in range(rounds):
        for name, (cmd, cnt) in commands.items():
            if i < cnt:
                run_once(cmd, costs[name])
    return costs


def sonde(script):
    return [opts.sonde, "-e", script]


def bpftrace(script):
    return [BPFTRACE, "-e", script]


def ply(script):
    return shlex.split(opts.ply) + [script]


ROUNDS = 7 if opts.quick else 21


def measure_commands():
    rows = []

    def row(title, commands, rounds=ROUNDS):
        say(title)
        rows.append((title, compare({k: v for k, v in commands.items() if v}, rounds)))

    row("`BEGIN { exit(); }`", {
        "sonde": (sonde("BEGIN { exit(); }"), ROUNDS),
        "bpftrace": (bpftrace("BEGIN { exit(); }"), ROUNDS),
        "ply": (ply("BEGIN { exit(0); }"), ROUNDS) if opts.ply else None,
    })
    row("one tracepoint, attached and detached", {
        "sonde": (sonde("t:sched:sched_switch { @ = count(); } BEGIN { exit(); }"), ROUNDS),
        "bpftrace": (bpftrace("t:sched:sched_switch { @ = count(); } BEGIN { exit(); }"), ROUNDS),
        "ply": (ply("tracepoint:sched/sched_switch { @[0] = count(); } BEGIN { exit(0); }"), ROUNDS) if opts.ply else None,
    })
    wild = "t:syscalls:sys_enter_* { @[probe] = count(); } BEGIN { exit(); }"
    row("`t:syscalls:sys_enter_* { @[probe] = count(); }`, attached and detached", {
        "sonde": (sonde(wild), ROUNDS),
        "bpftrace": None if opts.quick else (bpftrace(wild), 1),
    })
    row("`-l 'tracepoint:*'`", {
        "sonde": ([opts.sonde, "-l", "tracepoint:*"], ROUNDS),
        "bpftrace": ([BPFTRACE, "-l", "tracepoint:*"], ROUNDS),
    })
    return rows


# ---- types ----

BTF = "/sys/kernel/btf/vmlinux"


def measure_types():
    """(title, name of the other side, costs)"""
    rows = []
    if shutil.which("pahole") and os.path.exists(BTF):
        say("types, beside pahole")
        rows.append(("every struct of the kernel", "pahole", compare({
            "sonde": ([opts.sonde, "type", "--btf", BTF], ROUNDS), "other": (["pahole", BTF], ROUNDS)}, ROUNDS)))
        rows.append(("`task_struct`", "pahole", compare({
            "sonde": ([opts.sonde, "type", "task_struct"], ROUNDS), "other": (["pahole", "-C", "task_struct", BTF], ROUNDS)}, ROUNDS)))
    say("a script with a struct of the kernel, beside one without")
    rows.append(("a script that uses `curtask->parent->comm`", "the script with `comm`", compare({
        "sonde": (sonde("BEGIN { @[((struct task_struct *)curtask)->parent->comm] = 1; exit(); }"), ROUNDS),
        "other": (sonde("BEGIN { @[comm] = 1; exit(); }"), ROUNDS)}, ROUNDS)))
    return rows


# ---- instructions ----

ONE_LINERS = [
    ("files executed", 't:syscalls:sys_enter_execve { printf("%s -> %s\\n", comm, str(args->filename)); }'),
    ("system calls by process name", "t:raw_syscalls:sys_enter { @[comm] = count(); }"),
    ("system calls by probe", "t:syscalls:sys_enter_openat { @[probe] = count(); }"),
    ("sizes of reads", "t:syscalls:sys_enter_read { @ = hist(args->count); }"),
    ("bytes read by process name", "t:syscalls:sys_exit_read /args->ret > 0/ { @[comm] = sum(args->ret); }"),
    ("latency of reads", "t:syscalls:sys_enter_read { @start[tid] = nsecs; } "
     "t:syscalls:sys_exit_read /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start[tid]); }"),
    ("system calls by pid", "t:raw_syscalls:sys_enter { @[pid] = count(); }"),
    ("system calls of one process name", 't:raw_syscalls:sys_enter /comm == "bash"/ { @ = count(); }'),
    ("bytes written by name and pid", "t:syscalls:sys_exit_write { @[comm, pid] = sum(args->ret); }"),
    ("who sleeps", 't:syscalls:sys_enter_nanosleep { printf("%d %s\\n", pid, comm); }'),
    ("calls of a library function", "uprobe:libc:malloc { @ = count(); }"),
    ("what is on the CPU, at 99 Hz", "profile:hz:99 { @[comm] = count(); }"),
]


def bpftrace_insns(script):
    """Bytes of the program sections of the ELF file that bpftrace writes, in instructions of 8 bytes: what it hands to the kernel."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "prog.o")
        subprocess.run([BPFTRACE, "--emit-elf", path, "-e", script], env=ENV, capture_output=True, timeout=60)
        if not os.path.exists(path):
            return None
        with open(path, "rb") as f:
            elf = f.read()
    shoff, = struct.unpack_from("<Q", elf, 0x28)
    shentsize, shnum, shstrndx = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, shoff + i * shentsize) for i in range(shnum)]
    names = heads[shstrndx][4]
    total = 0
    for name, kind, flags, _, _, size, *_ in heads:
        text = elf[names + name:elf.index(b"\0", names + name)].decode()
        if kind == 1 and flags & 4 and text.startswith("s_"):
            total += size // 8
    return total or None


def sonde_insns(script):
    text = subprocess.run([opts.sonde, "-d", "bpf", "-e", script], capture_output=True, text=True).stdout
    found = re.findall(r"^prog .*\((\d+) instructions", text, re.M)
    return sum(map(int, found)) or None


# ---- cost per event ----

EVENTS = [
    ("`@ = count()`", "t:syscalls:sys_enter_getppid { @ = count(); }"),
    ("`@[pid] = count()`", "t:syscalls:sys_enter_getppid { @[pid] = count(); }"),
    ("`@[comm] = count()`", "t:syscalls:sys_enter_getppid { @[comm] = count(); }"),
    ("`@ = hist(nsecs)`", "t:syscalls:sys_enter_getppid { @ = hist(nsecs); }"),
    ("latency pair", "t:syscalls:sys_enter_getppid { @s[tid] = nsecs; } "
     "t:syscalls:sys_exit_getppid /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }"),
]


def prog_stats(pid):
    """Run time and run count of the programs that a process holds, by program id."""
    found = {}
    base = f"/proc/{pid}/fdinfo"
    for fd in os.listdir(base):
        try:
            with open(f"{base}/{fd}") as f:
                info = dict(line.split(":", 1) for line in f if ":" in line)
        except OSError:
            continue
        if "prog_id" in info and "run_cnt" in info:
            found[int(info["prog_id"])] = (int(info["run_time_ns"]), int(info["run_cnt"]))
    return found


def spin(calls):
    return float(subprocess.run([SPIN, str(calls)], capture_output=True, text=True, check=True).stdout)


def event_cost(cmd):
    """Nanoseconds per event: (spent in the programs, added to the call), best of some tries."""
    calls = 200_000 if opts.quick else 1_000_000
    plain = min(spin(calls) for _ in range(3))
    proc = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
    try:
        deadline = time.monotonic() + 30
        # It is attached when a program of its counts calls.
        while True:
            before = prog_stats(proc.pid)
            spin(2000)
            after = prog_stats(proc.pid)
            if any(after[i][1] - before.get(i, (0, 0))[1] >= 2000 for i in after):
                break
            if time.monotonic() > deadline or proc.poll() is not None:
                return None
            time.sleep(0.1)
        best = None
        for _ in range(3):
            before = prog_stats(proc.pid)
            took = spin(calls)
            after = prog_stats(proc.pid)
            # All programs of a script count, averaged over the calls that were made.
            ns = sum(after[i][0] - before[i][0] for i in after if i in before) / calls
            best = (ns, took) if best is None else (min(best[0], ns), min(best[1], took))
        return best[0], best[1] - plain
    finally:
        proc.send_signal(signal.SIGINT)
        try:
            proc.wait(30)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()


# ---- the report ----

def first_line(cmd):
    r = subprocess.run(cmd, capture_output=True, text=True)
    return (r.stdout + r.stderr).strip().splitlines()[0]


def cpu_name():
    with open("/proc/cpuinfo") as f:
        m = re.search(r"^model name\s*: (.*)$", f.read(), re.M)
    return m.group(1) if m else os.uname().machine


def os_name():
    with open("/etc/os-release") as f:
        m = re.search(r'^PRETTY_NAME="?([^"\n]*)', f.read(), re.M)
    return m.group(1) if m else "?"


def num(x, unit=""):
    if x is None:
        return "–"
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    return f"{x:,.{digits}f}{unit}"


def times(x):
    return f"{x:,.0f} ×" if x >= 10 else f"{x:.1f} ×"


def table(head, rows):
    out("| " + " | ".join(head) + " |")
    out("|" + "---|" * len(head))
    for r in rows:
        out("| " + " | ".join(r) + " |")
    out()


def program_files(path):
    """The program and the libraries that it loads, in bytes."""
    path = subprocess.run(["sh", "-c", f"command -v {path}"], capture_output=True, text=True).stdout.strip()
    libs = re.findall(r"=> (/\S+)", subprocess.run(["ldd", path], capture_output=True, text=True).stdout)
    return os.path.getsize(path), sum(os.path.getsize(os.path.realpath(f)) for f in libs)


def main():
    commands = measure_commands()
    say("instructions")
    insns = [(what, script, sonde_insns(script), bpftrace_insns(script)) for what, script in ONE_LINERS]
    events = []
    for what, script in EVENTS:
        say("cost per event: " + what)
        events.append((what, event_cost(sonde(script)), event_cost(bpftrace(script))))
    types = measure_types()
    size = os.path.getsize(opts.sonde)
    bt_size, bt_libs = program_files(BPFTRACE)
    version = first_line([BPFTRACE, "--version"])

    out("# Benchmarks\n")
    out("Written by `bench/run` (`make bench`). The tools take turns in one run on one machine, so the ratios say more than the figures.\n")
    out(f"- machine: {cpu_name()}, {os.cpu_count()} CPUs, {os_name()}, Linux {os.uname().release}")
    out(f"- {first_line([opts.sonde, '--version'])}, static release build; {version}"
        + (f"; ply {opts.ply_version}".rstrip() if opts.ply else "; ply is left out: it is not installed and its package could not be had")
        + "\n")

    goals = []
    begin, wild = commands[0][1], commands[2][1]
    speed, memory = begin["bpftrace"].wall / begin["sonde"].wall, begin["bpftrace"].rss / begin["sonde"].rss
    goals.append(("start-up at least 30 × faster than bpftrace", times(speed), speed >= 30))
    goals.append(("memory at least 10 × smaller", times(memory), memory >= 10))
    if "bpftrace" in wild:
        speed = wild["bpftrace"].wall / wild["sonde"].wall
        goals.append(("all system call tracepoints at least 50 × faster", times(speed), speed >= 50))
    both = [(a, b) for _, _, a, b in insns if a and b]
    fewer = sum(a <= b for a, b in both)
    goals.append(("no more instructions than bpftrace for each one-liner", f"{fewer} of {len(both)}", fewer == len(both)))
    goals.append(("static binary of at most 4 MB", f"{size / 1e6:.2f} MB", size <= 4e6))

    out("## Goals\n")
    table(["goal", "measured", "met"], [(a, b, "yes" if ok else "**no**") for a, b, ok in goals])

    out("## Start-up\n")
    out(f"Medians of {ROUNDS} runs (bpftrace on all system calls: 1 run). ms of wall time / ms of CPU time / MB of largest resident set.\n")
    rows = []
    for title, costs in commands:
        line = [title]
        for tool in ("sonde", "bpftrace", "ply"):
            c = costs.get(tool)
            line.append(f"{num(c.wall)} / {num(c.cpu)} / {num(c.rss)}" if c else "–")
        if costs.get("bpftrace"):
            a, b = costs["sonde"], costs["bpftrace"]
            line.append(f"{a.wall / b.wall:.4f} / {a.cpu / b.cpu:.3f} / {a.rss / b.rss:.3f}")
        else:
            line.append("–")
        rows.append(line)
    table(["", "sonde", "bpftrace", "ply", "sonde ÷ bpftrace"], rows)

    out("## Instructions\n")
    out("BPF instructions handed to the kernel, all programs of the script together. Sonde's include what bpftrace has no code for: counting an "
        "update that did not fit a full map, going on when another CPU inserted the same key first, and choosing the system call on the raw "
        "tracepoint.\n")
    table(["", "script", "sonde", "bpftrace", "sonde ÷ bpftrace"],
          [(what, "`" + script.replace("|", "\\|") + "`", str(a or "–"), str(b or "–"), f"{a / b:.2f}" if a and b else "–")
           for what, script, a, b in insns])

    out("## Cost per event\n")
    out("A loop of `getppid()`; nanoseconds spent in the BPF programs (as the kernel counts them; that includes its own two clock reads) / "
        "nanoseconds that tracing adds to the call.\n")
    table(["`t:syscalls:sys_enter_getppid`", "sonde", "bpftrace", "sonde ÷ bpftrace"],
          [(what, f"{num(a[0])} / {num(a[1])}" if a else "–", f"{num(b[0])} / {num(b[1])}" if b else "–",
            f"{a[0] / b[0]:.2f} / {a[1] / b[1]:.2f}" if a and b else "–") for what, a, b in events])

    out("## Types\n")
    out("`sonde type` beside pahole, and what types cost a script. ms of wall time / ms of CPU time / MB of largest resident set.\n")
    table(["", "sonde", "beside it", "", "ratio"],
          [(title, f"{num(c['sonde'].wall)} / {num(c['sonde'].cpu)} / {num(c['sonde'].rss)}", other,
            f"{num(c['other'].wall)} / {num(c['other'].cpu)} / {num(c['other'].rss)}",
            f"{c['sonde'].wall / c['other'].wall:.2f} / {c['sonde'].cpu / c['other'].cpu:.2f} / {c['sonde'].rss / c['other'].rss:.2f}")
           for title, other, c in types])

    out("## Size\n")
    table(["", "program", "libraries that it loads"],
          [("sonde (static, stripped)", f"{size / 1e6:.2f} MB", "none"),
           ("bpftrace", f"{bt_size / 1e6:.2f} MB", f"{bt_libs / 1e6:.0f} MB")])


main()
