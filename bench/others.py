"""Sonde beside perf and bpftool: no tracers of its kind, but some work both can do."""

import os
import re
import select
import shutil

from common import Mood, Samples, Setup, Spin, Tracer, compare, num, ratio, run_once, say, script_args, table
from events import EventCost, measure_one
from printing import FILL, print_map

CALLS = 100_000
PROBE = "t:syscalls:sys_enter_getppid"
EVENT = "syscalls:sys_enter_getppid"
# What perf trace shows of a call: when, how long, who, and what it returned.
TRACE = (PROBE + " { @s[tid] = nsecs; } t:syscalls:sys_exit_getppid /@s[tid]/ "
         '{ printf("%d us (%d ns): %s/%d getppid() = %d\\n", elapsed / 1000, nsecs - @s[tid], comm, tid, args.ret); delete(@s, tid); }')


class PerfStat(Tracer):
    """perf stat of the whole machine. It has no programs to look at, but says itself when it counts."""

    def __init__(self, event, cpus):
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        super().__init__(["perf", "stat", "-a", "-D", "-1", "--control", f"fd:{orders},{answers}", "-e", event], cpus=cpus, pass_fds=(orders, answers))
        os.close(orders)
        os.close(answers)

    def wait_attached(self, spin, call, limit=10):
        os.write(self.orders, b"enable\n")
        return bool(select.select([self.answers], [], [], limit)[0]) and os.read(self.answers, 16).startswith(b"ack")

    def stop(self, limit=60):
        got = super().stop(limit)
        os.close(self.orders)
        os.close(self.answers)
        return got


def added_to_a_call():
    """{side: ns}"""
    starts = {"sonde": lambda cpus: Tracer(script_args("sonde", PROBE + " { @ = count(); }"), cpus=cpus), "other": lambda cpus: PerfStat(EVENT, cpus)}
    plain_calls = Samples()
    costs = {side: EventCost(False, plain_calls) for side in starts}
    spin, mood = Spin(), Mood()
    try:
        for _ in range(2 if Setup.is_quick else 6):
            for side, start in starts.items():
                if not measure_one(start, "getppid", costs[side], spin, mood):
                    return {}
    finally:
        spin.stop()
        mood.stop()
    return {side: c.added for side, c in costs.items()}


def dump_map(keys):
    """{side: ms}: bpftool dumps the map that Sonde has filled, then Sonde prints it and ends. Both write to a file in memory."""
    spin, mood = Spin(), Mood()
    found = {"sonde": Samples(), "other": Samples()}
    path = lines_of("bpftool")

    def dump(tracer):
        got, was = mood.during(lambda: run_once(["sh", "-c", f"bpftool map dump id {largest_map(tracer)} >{path}"]), Mood.OFTEN_MS)
        with open(path) as f:
            elements = int(re.findall(r"\d+", f.readlines()[-1])[0]) if got else 0
        # Sonde has some keys in slots beside the map.
        if elements >= 0.9 * keys:
            found["other"].add(got[0] / 1e6, was)

    for _ in range(1 if Setup.is_quick else 9):
        printed = print_map("sonde", FILL, keys, spin, mood, before_end=dump)
        if printed and printed.seconds:
            found["sonde"].add(printed.seconds * 1e3, printed.mood)
    spin.stop()
    mood.stop()
    return {side: ms.corrected for side, ms in found.items() if ms.all}


RINGBUF = "27"  # BPF_MAP_TYPE_RINGBUF: its entries are bytes


def largest_map(tracer):
    """The number of the map with the most entries that the tracer holds."""
    found = {}
    base = f"/proc/{tracer.proc.pid}/fdinfo"
    for fd in os.listdir(base):
        with open(f"{base}/{fd}") as f:
            info = dict(line.split(":", 1) for line in f if ":" in line)
        if "map_id" in info and info["map_type"].strip() != RINGBUF:
            found[int(info["map_id"])] = int(info["max_entries"])
    return max(found, key=found.get)


def lines_of(tool):
    return os.path.join(Setup.scratch, tool + ".lines")


def who_lost():
    """Those in whose output calls are missing."""
    lost = []
    for tool in ("sonde", "perf"):
        with open(lines_of(tool)) as f:
            if sum("getppid()" in line for line in f) < CALLS:
                lost.append(tool)
    return lost


def perf_rows():
    """(what, sonde's script as shown, perf's command as shown, sonde's command, perf's command, its rounds or None for all)"""
    file = os.path.join(Setup.scratch, "calls")
    with open(file, "w") as f:
        f.write(f"getppid {CALLS}\n")
    calls = f"{Setup.spin} <{file}"
    data = os.path.join(Setup.scratch, "perf.data")

    def traced(script, command, *more):
        return script_args("sonde", script) + ["-c", command, *more]

    script = "t:sched:sched_switch { @ = count(); }"
    yield ("one tracepoint, counted while `true` runs", script, "perf stat -a -e sched:sched_switch true",
           traced(script, "true"), ["perf", "stat", "-a", "-e", "sched:sched_switch", "true"], None)
    if not Setup.is_quick:
        script = "t:syscalls:sys_enter_* { @[probe] = count(); }"
        yield ("all system calls, counted by name while `true` runs", script, "perf stat -a -e 'syscalls:sys_enter_*' true",
               traced(script, "true"), ["perf", "stat", "-a", "-e", "syscalls:sys_enter_*", "true"], 4)
    script = PROBE + " { @[ustack] = count(); }"
    yield (f"user stacks of {CALLS:,} calls, counted and shown", script, f"perf record -g --user-callchains -e {EVENT} …; perf report",
           traced(script, f"sh -c 'exec {calls}'"),
           ["sh", "-c", f"perf record -q -g --user-callchains -e {EVENT} -o {data} {calls} && perf report -i {data} --stdio"], None)
    yield (f"{CALLS:,} calls, each printed with its time, duration and result", "entry … return … printf(…)", "perf trace -e getppid …",
           traced(TRACE, f"sh -c 'exec {calls}'", "-o", lines_of("sonde")), ["perf", "trace", "-e", "getppid", "-o", lines_of("perf"), "sh", "-c", f"exec {calls}"], 4)
    yield ("all tracepoints, listed", "-l 'tracepoint:*'", "perf list tracepoint", [Setup.sonde, "-l", "tracepoint:*"], ["perf", "list", "tracepoint"], None)


def shown(command, has_lost=False):
    # Not in the row's name, by which bench/agree finds the same row of another run.
    return f"`{command}`" + (" (lost some)" if has_lost else "")


def measure_others():
    """[(what, sonde's script as shown, the other's command as shown, {side: Cost, or a number})]; without perf or bpftool, without their rows."""
    rows = []
    if shutil.which("perf"):
        say("beside perf: what counting adds to a call")
        rows.append(("one system call, counted: ns that are added to it", shown(PROBE + " { @ = count(); }"), shown(f"perf stat -a -e {EVENT}"), added_to_a_call()))
        rounds = 3 if Setup.is_quick else 11
        say("beside perf: commands")
        perf = list(perf_rows())
        found = compare([{"sonde": sonde, "other": (cmd, times or rounds)} for _, _, _, sonde, cmd, times in perf], rounds)
        for (what, script, command, _, _, _), costs in zip(perf, found):
            lost = who_lost() if "printed" in what and len(costs) == 2 else []
            rows.append((what, shown(script, "sonde" in lost), shown(command, "perf" in lost), costs))
    if shutil.which("bpftool"):
        keys = 100_000 if Setup.is_quick else 1_000_000
        say(f"beside bpftool: {keys:,} keys")
        rows.append((f"a map of {keys:,} keys, printed: ms", shown(FILL.strip()), shown("bpftool map dump id N"), dump_map(keys)))
    return [r for r in rows if len(r[3]) == 2]


def show_others(rows):
    print("## Beside perf and bpftool\n")
    print("Work that both can do. ms of wall time / ms of CPU time / MB of largest resident set, where nothing else is said, as at start-up. The time of "
          f"{CALLS:,} calls is in both figures. perf record writes every stack to a file, of which perf report makes what Sonde's map already is. bpftool dumps the hash map as the "
          "kernel has it, 90 % of the keys or more; Sonde adds what it has beside it, sorts, prints, and detaches. perf stat has a perf event for each system call and CPU, and waits for the kernel when it closes them.\n")

    def cell(c):
        return num(c) if isinstance(c, float) else str(c)

    def ratios(a, b):
        return ratio(a, b) if isinstance(a, float) else f"{ratio(a.wall, b.wall)} / {ratio(a.cpu, b.cpu)} / {ratio(a.rss, b.rss)}"

    table(["", "sonde", "", "beside it", "", "sonde ÷ it"],
          [(what, script, cell(c["sonde"]), command, cell(c["other"]), ratios(c["sonde"], c["other"])) for what, script, command, c in rows])
