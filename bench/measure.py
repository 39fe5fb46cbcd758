"""Measures and prints the tables of docs/benchmarks.md. Started by bench/run."""

import argparse
import os
import re
import shlex
import shutil
import subprocess

from common import CPUS, Setup, compare, geometric_mean, num, ratio, say, script_args, table, times
from events import BASE, event_ratios, insn_ratios, measure_events, measure_insns, show_events, show_insns
from growth import FUNCTIONS, LINEAR, make_functions, measure_compile, measure_growth, show_growth, slope
from guests import guest_ratios, measure_guests, show_guests
from others import measure_others, show_others
from printing import measure_maps, measure_printed, show_maps, show_printed

p = argparse.ArgumentParser()
p.add_argument("--sonde", required=True)
p.add_argument("--tools", required=True, help="folder of launch, mood, spin, loader and hand/*.bpf.o")
p.add_argument("--new", help="command that runs the newest bpftrace")
p.add_argument("--old", help="command that runs the bpftrace of Debian 12")
p.add_argument("--ply", help="command that runs ply")
p.add_argument("--ply-version", default="")
p.add_argument("--picture", required=True, help="where the curves are drawn")
p.add_argument("--only", default="", help="letters of the sections: s, e, p, m, c, g, t, o, k; for trying")
p.add_argument("--quick", action="store_true")
opts = p.parse_args()

ROUNDS = 6 if opts.quick else 30


def version_of(cmd):
    r = subprocess.run(cmd + ["--version"], capture_output=True, text=True)
    m = re.search(r"v?(\d+\.\d+[.\d]*)", r.stdout + r.stderr)
    return m[1] if m else "?"


def set_up():
    s = Setup
    s.sonde, s.is_quick = opts.sonde, opts.quick
    s.launch, s.mood, s.spin, s.hand = (os.path.join(opts.tools, n) for n in ("launch", "mood", "spin", "hand"))
    loader = os.path.join(opts.tools, "loader")
    s.loader = loader if os.path.exists(loader) else ""
    s.scratch = os.path.join(opts.tools, "scratch")
    os.makedirs(s.scratch, exist_ok=True)
    s.tools["sonde"], s.titles["sonde"] = [opts.sonde], "sonde"
    for name, cmd in (("new", opts.new), ("old", opts.old)):
        # A quick look is at the newest, if there is one.
        if cmd and not (opts.quick and name == "old" and opts.new):
            s.tools[name] = shlex.split(cmd)
            s.titles[name] = "bpftrace " + ".".join(version_of(s.tools[name]).split(".")[:2])
    s.titles["hand"], s.titles["ply"] = "by hand", "ply"


# ---- start-up and attaching ----

def copy_libc():
    libc = os.path.join(Setup.scratch, "libc.so")
    shutil.copy(re.search(r"=> (\S*libc\.so\S*)", subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True).stdout)[1], libc)
    return libc


def measure_commands():
    """[(title, {tool: Cost})]"""
    rows = {}
    say("start-up, attaching and detaching")

    def row(title, script, ply=None, counts=None):
        counts = counts or {}
        rows[title] = {t: (script_args(t, script), counts.get(t, ROUNDS)) for t in Setup.tools if counts.get(t, 1)}
        if ply and opts.ply:
            rows[title]["ply"] = shlex.split(opts.ply) + [ply]

    row("`BEGIN { exit(); }`", "BEGIN { exit(); }", "BEGIN { exit(0); }")
    row("one tracepoint", "t:sched:sched_switch { @ = count(); } BEGIN { exit(); }",
        "tracepoint:sched/sched_switch { @[0] = count(); } BEGIN { exit(0); }")
    # The peers wait for the kernel at every site: three times is what the patience allows.
    peers = 0 if opts.quick else 3
    row("`t:syscalls:sys_enter_* { @[probe] = count(); }`", "t:syscalls:sys_enter_* { @[probe] = count(); } BEGIN { exit(); }",
        counts={"new": peers, "old": 0})
    # Of files that nobody runs: what other programs on the machine do must be neither measured nor disturbed.
    libc = copy_libc()
    row("`uprobe:LIBC:* { @ = count(); }`", f"uprobe:{libc}:* {{ @ = count(); }} BEGIN {{ exit(); }}",
        counts={"old": 0})
    path = make_functions(FUNCTIONS)
    row("10,000 uprobes `{ @ = count(); }`", f"uprobe:{path}:f0* {{ @ = count(); }} BEGIN {{ exit(); }}",
        counts={"old": 0})
    row("100 uprobes `{ @[probe] = count(); }`", f"uprobe:{path}:f000* {{ @[probe] = count(); }} BEGIN {{ exit(); }}",
        counts={"new": peers, "old": 0})
    rows["`-l 'tracepoint:*'`"] = {t: cmd + ["-l", "tracepoint:*"] for t, cmd in Setup.tools.items()}
    return list(zip(rows, compare(rows.values(), ROUNDS, cpus=CPUS[-1:])))


BTF = "/sys/kernel/btf/vmlinux"
OTHERS = ("perf", "bpftool", "pahole")


def measure_types():
    """(title, name of the other side, costs)"""
    rows = []
    say("types")
    if shutil.which("pahole") and os.path.exists(BTF):
        rows.append(("every struct of the kernel", "pahole", [opts.sonde, "type", "--btf", BTF], ["pahole", BTF]))
        rows.append(("`task_struct`", "pahole", [opts.sonde, "type", "task_struct"], ["pahole", "-C", "task_struct", BTF]))
    if shutil.which("bpftool") and os.path.exists(BTF):
        rows.append(("structs with offsets, or every type as C", "bpftool",
                     [opts.sonde, "type", "--btf", BTF], ["bpftool", "btf", "dump", "file", BTF, "format", "c"]))
    rows.append(("a script that uses `curtask->parent->comm`", "the script with `comm`",
                 script_args("sonde", "BEGIN { @[((struct task_struct *)curtask)->parent->comm] = 1; exit(); }"),
                 script_args("sonde", "BEGIN { @[comm] = 1; exit(); }")))
    costs = compare([{"sonde": sonde, "other": other} for _, _, sonde, other in rows], ROUNDS // 2, cpus=CPUS[-1:])
    return [(title, other, c) for (title, other, _, _), c in zip(rows, costs)]


# ---- the report ----

def cpu_name():
    with open("/proc/cpuinfo") as f:
        m = re.search(r"^model name\s*: (.*)$", f.read(), re.M)
    return m.group(1) if m else os.uname().machine


def os_name():
    with open("/etc/os-release") as f:
        m = re.search(r'^PRETTY_NAME="?([^"\n]*)', f.read(), re.M)
    return m.group(1) if m else "?"


def program_files(cmd):
    """The program and the libraries that it loads, in bytes."""
    path = shutil.which(cmd[0])
    root = os.path.dirname(os.path.realpath(path))
    if os.path.exists(os.path.join(root, "usr", "bin", "bpftrace")):
        path = os.path.join(root, "usr", "bin", "bpftrace")
        loader = os.path.join(root, "usr/lib64/ld-linux-x86-64.so.2")
        listed = subprocess.run([loader, "--library-path", os.path.join(root, "usr/lib/x86_64-linux-gnu"), "--list", path],
                                capture_output=True, text=True).stdout
    else:
        listed = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    libs = re.findall(r"=> (/\S+)", listed)
    return os.path.getsize(path), sum(os.path.getsize(os.path.realpath(f)) for f in libs)


class Goals:
    def __init__(self):
        self.rows = []

    def add(self, what, goal, measured, is_met, why=""):
        """measured may be None: then it was not taken in this run."""
        if measured is not None:
            self.rows.append((what, goal, measured, "yes" if is_met else "**no**" + (": " + why if why else "")))

    def at_most(self, what, limit, value, why=""):
        if value is not None:
            self.add(what, f"≤ {limit:g}", ratio(value, 1) if value < 10 else num(value), value <= limit, why)

    def all_at_most(self, what, limit, ratios, why=""):
        """ratios: name -> value; those above the limit are named. why may be a function of them."""
        if not ratios:
            return
        over = {k: v for k, v in ratios.items() if v > limit + 0.005}
        reason = why(over) if callable(why) else why
        self.add(what, f"each ≤ {limit:g}", f"{ratio(min(ratios.values()), 1)} to {ratio(max(ratios.values()), 1)}; {len(ratios) - len(over)} of {len(ratios)}",
                 not over, ", ".join(f"{k} {v:.2f}" for k, v in over.items()) + ("; " + reason if reason else ""))


SELECTS = "choosing the system call is counted as Sonde's program, but not as the others', for whom the kernel chooses"
STACKS = "on the raw tracepoint, which is the quicker way to any program, three more frames of the kernel's stack have to be walked"
CODE = "code that the other has none of, see Instructions"


def why_slower(field):
    """A function for all_at_most(): the reasons why Sonde takes longer, for the rows that are over the limit."""
    def why(over):
        stacks = [what for what in over if "kstack]" in what]
        return "; ".join([STACKS] * bool(stacks) + [SELECTS] * (field == "ns" and len(stacks) < len(over)))
    return why


def goals_of(m):
    g = Goals()
    new = Setup.titles.get("new", "bpftrace")
    rows = dict(m["commands"])
    begin = rows.get("`BEGIN { exit(); }`", {})
    if "new" in begin:
        a, b = begin["sonde"], begin["new"]
        g.at_most(f"start-up, `BEGIN {{ exit(); }}`: wall time ÷ {new}", 0.01, a.wall / b.wall)
        g.at_most(f"… CPU time ÷ {new}", 0.02, a.cpu / b.cpu)
        g.at_most(f"… resident set ÷ {new}", 0.03, a.rss / b.rss)
    if "ply" in begin:
        a, b = begin["sonde"], begin["ply"]
        g.at_most("… wall time ÷ ply", 2, a.wall / b.wall)
        g.at_most("… resident set ÷ ply", 2, a.rss / b.rss)
    size = os.path.getsize(opts.sonde) / 1e6
    g.add("stripped static binary", "≤ 3 MB", f"{size:.2f} MB", size <= 3)
    wild = rows.get("`t:syscalls:sys_enter_* { @[probe] = count(); }`", {})
    if "new" in wild:
        g.at_most(f"attach + detach of all system call tracepoints ÷ {new}", 0.005, wild["sonde"].wall / wild["new"].wall)
    sites = {t.strip("`").split(" {")[0]: c["sonde"].wall / c["new"].wall for t, c in m["commands"] if "uprobe" in t and "new" in c}
    g.all_at_most(f"attach + detach of thousands of uprobes ÷ {new}", 0.5, sites)
    for t in ("new", "old"):
        title = Setup.titles.get(t)
        for word, limit in (("tracepoint", 0.333), ("kprobe", 0.5), ("kretprobe", 0.5), ("uprobe", 0.5)):
            g.all_at_most(f"attach + detach of many {word}s in other kernels ÷ {title}", limit, guest_ratios(m["guests"], t, f"`{word}:"))
    for t in ("new", "old"):
        r = event_ratios(m["events"], t)
        if r:
            g.all_at_most(f"ns of an event ÷ {Setup.titles[t]}", 1.0, r, why_slower("ns"))
            mean = geometric_mean(list(r.values()))
            empty = dict(m["events"])[BASE][t].ns
            g.at_most("… geometric mean", 0.6, mean, f"of every figure, {num(empty)} ns are an empty program and the kernel's clock reads, on both sides")
            r = event_ratios(m["events"], t, "added")
            g.all_at_most(f"ns that tracing adds to a call ÷ {Setup.titles[t]}", 1.0, r, why_slower("added"))
            g.at_most("… geometric mean", 0.6, geometric_mean(list(r.values())))
    g.all_at_most("ns of an event ÷ C by hand", 1.05, event_ratios(m["events"], "hand"), why_slower("ns"))
    g.all_at_most("ns that tracing adds to a call ÷ C by hand", 1.05, event_ratios(m["events"], "hand", "added"), why_slower("added"))
    for t in ("new", "old"):
        title = Setup.titles.get(t)
        g.all_at_most(f"instructions emitted ÷ {title}", 1.0, insn_ratios(m["insns"], t, "emitted"), CODE)
        g.all_at_most(f"instructions verified ÷ {title}", 1.0, insn_ratios(m["insns"], t, "verified"), CODE)
    for n, found in m["printed"].items():
        a = found.get("sonde")
        who = "one producer" if n == 1 else f"{n} producers"
        for t in ("new", "old"):
            b = found.get(t)
            if a and b and b.rate:
                g.add(f"events printed without loss, {who} ÷ {Setup.titles[t]}", "≥ 5 ×", times(a.rate / b.rate), a.rate >= 5 * b.rate,
                      f"the producers make no more than {a.rate:,.0f} in a second, of which none is lost" if a.is_all else "")
            if a and b and a.cpu_ns and b.cpu_ns:
                g.at_most(f"CPU of the tracer for a printed event, {who} ÷ {Setup.titles[t]}", 0.2, a.cpu_ns / b.cpu_ns)
    for what, c in m["maps"]:
        for t in ("new", "old"):
            if t in c and "sonde" in c:
                g.add(f"{what} ÷ {Setup.titles[t]}", "≥ 5 × faster", times(c[t].seconds / c["sonde"].seconds), c[t].seconds >= 5 * c["sonde"].seconds)
    for what, c in m["compile"]:
        g.add(f"compile {what}", "milliseconds", f"{num(c['sonde'].wall)} ms", c["sonde"].wall < 100)
    for work, unit, points in m["growth"]:
        g.add(f"cost as {work} grow", "linear or better", f"power {slope(points):.2f}", slope(points) <= LINEAR,
              f"{points[-1][0]:,} take {num(points[-1][1])} {unit}")
    return g.rows


def main():
    set_up()
    wanted = opts.only or ("sepmcgto" if opts.quick else "sepmcgtok")
    m = {"commands": [], "events": [], "insns": [], "printed": {}, "maps": [], "compile": [], "growth": [], "types": [], "others": [], "guests": [], "load": os.getloadavg()[0]}
    if "s" in wanted:
        m["commands"] = measure_commands()
    if "e" in wanted:
        m["events"] = measure_events()
        m["insns"] = measure_insns(m["events"])
    if "p" in wanted:
        m["printed"] = measure_printed([1] if opts.quick else [1, max(2, os.cpu_count() // 2)])
    if "m" in wanted:
        m["maps"] = measure_maps()
    if "c" in wanted:
        m["compile"] = measure_compile()
    if "g" in wanted:
        m["growth"] = measure_growth()
    if "t" in wanted:
        m["types"] = measure_types()
    if "o" in wanted:
        m["others"] = measure_others()
    if "k" in wanted:
        m["guests"] = measure_guests(copy_libc())
    say("done")
    report(m)


def report(m):
    print("# Benchmarks\n")
    print("Written by `bench/run` (`make bench`). The tools take turns in one run on one machine, so the ratios say more than the figures. "
          "How the tricks behind them work: [speed](design/speed.md).\n")
    print(f"- machine: {cpu_name()}, {os.cpu_count()} CPUs, {os_name()}, Linux {os.uname().release}")
    versions = [f"sonde {version_of([opts.sonde])}, static release build"] + [f"bpftrace {version_of(c)}" for t, c in Setup.tools.items() if t != "sonde"]
    if opts.ply:
        versions.append(f"ply {opts.ply_version}".strip())
    if Setup.loader:
        versions.append(f"clang {version_of(['clang'])}")
    versions += [f"{tool} {version_of([tool])}" for tool in OTHERS if shutil.which(tool)]
    print("- " + "; ".join(versions))
    print(f"- load average before the run {m['load']:.1f}, and {os.getloadavg()[0]:.1f} at its end: much more than 1 to 2 is other work, which disturbs")
    print("- times are those of a core of one's own. A virtual CPU shares its core, and while the neighbour works everything takes up to half as long again. A fixed piece of work is "
          "timed beside every measurement, and tells. Of the short stretches of calls only the undisturbed count, and of these the lower quartile. Elsewhere computing is divided by how much slower "
          "the machine was, and the mean of the middle half of the runs is shown")
    if opts.quick:
        print("- `--quick`: fewer rounds and turns than are told below, for a first look only")
    print()

    print("## Goals\n")
    table(["", "goal", "measured", "met"], goals_of(m))

    tools = [t for t in ("sonde", "new", "old", "ply") if t in Setup.tools or (t == "ply" and opts.ply)]
    peers = [t for t in tools[1:] if t != "ply"]
    if m["commands"]:
        print("## Start-up, attaching and detaching\n")
        print("ms of wall time / ms of CPU time / MB of largest resident set, on one CPU. What is over soon ran often, at times all over the measurement. LIBC is a copy of the C library that nobody runs. `–` is what was left out: bpftrace 0.17 waits for the kernel "
              "at every site, which is minutes for thousands, and ply has no such wildcards.\n")
        rows = []
        for title, c in m["commands"]:
            line = [title] + [str(c[t]) if t in c else "–" for t in tools]
            for t in peers + (["ply"] if "ply" in tools else []):
                a, b = c.get("sonde"), c.get(t)
                line.append(f"{ratio(a.wall, b.wall)} / {ratio(a.cpu, b.cpu)} / {ratio(a.rss, b.rss)}" if a and b else "–")
            rows.append(line)
        table([""] + [Setup.titles[t] for t in tools] + [f"÷ {Setup.titles[t]}" for t in tools[1:]], rows)
    if m["guests"]:
        show_guests(m["guests"])
    if m["events"]:
        show_events(m["events"])
        show_insns(m["insns"])
    if m["printed"]:
        show_printed(m["printed"])
    if m["maps"]:
        show_maps(m["maps"])
    if m["compile"]:
        print("## Compile time\n")
        print("Compiling alone, nothing is loaded. ms of wall time / ms of CPU time / MB of largest resident set. What *fails* aborts, or has no end in half a minute.\n")
        shown = ["sonde"] + peers
        table([""] + [Setup.titles[t] for t in shown] + [f"÷ {Setup.titles[t]}" for t in peers],
              [[what] + [str(c[t]) if t in c else "fails" for t in shown]
               + [f"{ratio(c['sonde'].wall, c[t].wall)}" if t in c else "–" for t in peers] for what, c in m["compile"]])
    if m["growth"]:
        show_growth(m["growth"], opts.picture)
    if m["types"]:
        print("## Types\n")
        print("`sonde type` beside pahole and bpftool, and what types cost a script. Sonde and pahole print structs with offsets and sizes, bpftool declarations of all types in an order that compiles. ms of wall time / ms of CPU time / MB of largest resident set.\n")
        table(["", "sonde", "beside it", "", "sonde ÷ it"],
              [(title, str(c["sonde"]), other, str(c["other"]),
                f"{ratio(c['sonde'].wall, c['other'].wall)} / {ratio(c['sonde'].cpu, c['other'].cpu)} / {ratio(c['sonde'].rss, c['other'].rss)}")
               for title, other, c in m["types"]])
    if m["others"]:
        show_others(m["others"])
    print("## Size\n")
    rows = [("sonde (static, stripped)", f"{os.path.getsize(opts.sonde) / 1e6:.2f} MB", "none")]
    for title, cmd in [(Setup.titles[t], Setup.tools[t]) for t in peers] + [(tool, [tool]) for tool in OTHERS if shutil.which(tool)]:
        size, libs = program_files(cmd)
        rows.append((title, f"{size / 1e6:.2f} MB", f"{libs / 1e6:.0f} MB"))
    table(["", "program", "libraries that it loads"], rows)


main()
