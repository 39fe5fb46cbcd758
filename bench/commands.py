# SPDX-License-Identifier: GPL-2.0-only
"""Commands that end by themselves: start-up, attaching, growth with the work, types, perf; and the sizes of the programs."""

import math
import os
import re
import shutil
import statistics
import subprocess
from functools import partial

from common import CPUS, FEW_ROUNDS, Row, Setup, Spin, command_row, path_of, run_command, script_args, take_turns, write_file
from picture import draw
from scripts import long_script, many_probes
from tracing import FILL, print_map

ONE_CPU = CPUS[-1:]
ROUNDS = 15
SOME_ROUNDS = 5
FUNCTIONS = 10_000
CALLS = 100_000
OTHERS = ("perf", "bpftool", "pahole")


def copy_libc():
    """A copy that no process runs, so that only attaching to it costs time."""
    listed = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True).stdout
    return shutil.copy(re.search(r"=> (\S*libc\.so\S*)", listed)[1], path_of("libc.so"))


def make_functions():
    """A program with the functions f00000, f00001, …, none of which runs."""
    source = "".join(f"int f{i:05}(int a) {{ return a + {i}; }}\n" for i in range(FUNCTIONS)) + "int main(void) { return 0; }\n"
    subprocess.run([os.environ.get("CC", "cc"), "-O0", "-o", path_of("functions"), write_file(path_of("functions.c"), source)], check=True)
    return path_of("functions")


def measure_start():
    libc, program = copy_libc(), make_functions()

    def row(title, script, rounds=ROUNDS, tools=("sonde", "new"), ply=""):
        commands = {tool: script_args(tool, script + " BEGIN { exit(); }") for tool in tools if tool in Setup.tools}
        return command_row(title, {**commands, **({"ply": Setup.ply + [ply]} if ply and Setup.ply else {})}, rounds, ONE_CPU)

    return take_turns([
        row("`BEGIN { exit(); }`", "", tools=Setup.tools, ply="BEGIN { exit(0); }"),
        row("one tracepoint `{ @ = count(); }`", "t:sched:sched_switch { @ = count(); }", tools=Setup.tools,
            ply="tracepoint:sched/sched_switch { @[0] = count(); } BEGIN { exit(0); }"),
        row("`t:syscalls:sys_enter_* { @[probe] = count(); }`", "t:syscalls:sys_enter_* { @[probe] = count(); }", FEW_ROUNDS),
        row("`uprobe:LIBC:* { @ = count(); }`", f"uprobe:{libc}:* {{ @ = count(); }}"),
        row(f"{FUNCTIONS:,} uprobes `{{ @ = count(); }}`", f"uprobe:{program}:f0* {{ @ = count(); }}"),
        row("100 uprobes `{ @[probe] = count(); }`", f"uprobe:{program}:f000* {{ @[probe] = count(); }}", FEW_ROUNDS),
        command_row("`-l 'tracepoint:*'`", {tool: cmd + ["-l", "tracepoint:*"] for tool, cmd in Setup.tools.items()}, ROUNDS, ONE_CPU),
    ])


def measure_growth():
    """Rows of the cost, with the peers for one amount of work, and a row of the power for each kind of work. Draws growth.svg."""
    options = {"sonde": ["--check"], "new": ["--mode", "codegen"], "old": ["--emit-elf", path_of("compiled.o")]}
    program = make_functions()

    def compiling(make_script):
        return lambda tool, n: run_command(Setup.tools[tool] + options[tool] + [write_file(path_of("growth.bt"), make_script(n))], ONE_CPU)

    def attaching(tool, n):
        pattern = "f00000" if n == 1 else "f" + "0" * len(str(FUNCTIONS // n)) + "*"  # f0000* for 10, f000* for 100, …
        return run_command(script_args(tool, f"uprobe:{program}:{pattern} {{ @[probe] = count(); }} BEGIN {{ exit(); }}"), ONE_CPU)

    with Spin() as spin:
        curves = {  # work -> amounts, the amount for the peers, how it is measured
            "lines of a script, compiled": ((125, 250, 500, 1000, 2000, 4000, 8000), 2000, compiling(long_script)),
            "probes of a script, compiled": ((62, 125, 250, 500, 1000, 2000), 500, compiling(many_probes)),
            "functions of a uprobe, attached and detached": ((1, 10, 100, 1000, 10_000), None, attaching),
            "keys of a map, printed": ((1000, 10_000, 100_000, 1_000_000), None, lambda tool, n: print_map(tool, FILL, n, spin)),
        }
        found = take_turns([Row(f"{work}: {x:,}", {tool: partial(take, tool, x) for tool in (Setup.tools if x == beside else ["sonde"])}, SOME_ROUNDS)
                            for work, (xs, beside, take) in curves.items() for x in xs])
    points = {work: {x: found[f"{work}: {x:,}"]["sonde"].get("wall", []) for x in xs} for work, (xs, _, _) in curves.items()}
    write_file(path_of("growth.svg"), draw({f"{work}, ms": [(x, statistics.median(ys)) for x, ys in samples.items()]
                                            for work, samples in points.items() if all(samples.values())}))
    powers = {work: [power(list(zip(samples, ys))) for ys in zip(*samples.values())] for work, samples in points.items()}
    return {**found, **{work: {"sonde": {"power": samples}} for work, samples in powers.items()}}


def power(points):
    """The power of the work with which the cost grows, over the upper half of the curve, where fixed costs count least."""
    (x0, y0), (x1, y1) = points[(len(points) - 1) // 2], points[-1]
    return math.log(y1 / y0) / math.log(x1 / x0)


def measure_types():
    def row(title, *commands):
        return command_row(title, {os.path.basename(cmd[0]): cmd for cmd in commands if shutil.which(cmd[0])}, ROUNDS, ONE_CPU)

    btf = "/sys/kernel/btf/vmlinux"
    return take_turns([
        row("every struct of the kernel", [Setup.sonde, "type", "--btf", btf], ["pahole", btf], ["bpftool", "btf", "dump", "file", btf, "format", "c"]),
        row("`task_struct`", [Setup.sonde, "type", "task_struct"], ["pahole", "-C", "task_struct", btf]),
    ])


def measure_perf():
    calls = f"{path_of('spin')} <{write_file(path_of('calls'), f'getppid {CALLS} 0')}"
    probe, event, data = "t:syscalls:sys_enter_getppid", "syscalls:sys_enter_getppid", path_of("perf.data")
    # perf trace shows the same of a call: its time, duration, process and result.
    trace = (probe + " { @s[tid] = nsecs; } t:syscalls:sys_exit_getppid /@s[tid]/ "
             '{ printf("%d us (%d ns): %s/%d getppid() = %d\\n", elapsed / 1000, nsecs - @s[tid], comm, tid, args.ret); delete(@s, tid); }')

    def row(title, sonde, perf, rounds=ROUNDS):
        return command_row(title, {"sonde": [Setup.sonde, *sonde], "perf": ["perf", *perf]} if shutil.which("perf") else {}, rounds)

    return take_turns([
        row("count a tracepoint while `true` runs; `perf stat -a`", ["-e", "t:sched:sched_switch { @ = count(); }", "-c", "true"],
            ["stat", "-a", "-e", "sched:sched_switch", "true"]),
        row("count the calls `sys_enter_r*` by name while `true` runs; `perf stat -a`", ["-e", "t:syscalls:sys_enter_r* { @[probe] = count(); }", "-c", "true"],
            ["stat", "-a", "-e", "syscalls:sys_enter_r*", "true"], SOME_ROUNDS),
        row(f"record the user stacks of {CALLS:,} calls; `perf record -g`", ["-e", probe + " { @[ustack] = count(); }", "-c", f"sh -c 'exec {calls}'"],
            ["record", "-q", "-g", "--user-callchains", "-e", event, "-o", data, "sh", "-c", f"exec {calls}"], SOME_ROUNDS),
        row(f"print {CALLS:,} calls with time, duration and result; `perf trace`", ["-e", trace, "-c", f"sh -c 'exec {calls}'"],
            ["trace", "-e", "getppid", "sh", "-c", f"exec {calls}"], SOME_ROUNDS),
        row("list all tracepoints; `perf list`", ["-l", "tracepoint:*"], ["list", "tracepoint"]),
    ])


def program_files(cmd):
    """The program and its shared libraries."""
    path = os.path.realpath(shutil.which(cmd[0]))
    lister, root = ["ldd"], os.path.dirname(path)
    if os.path.exists(os.path.join(root, "usr/bin/bpftrace")):  # tests/peer/fetch put it there, with a loader
        path = os.path.join(root, "usr/bin/bpftrace")
        lister = [os.path.join(root, "usr/lib64/ld-linux-x86-64.so.2"), "--library-path", os.path.join(root, "usr/lib/x86_64-linux-gnu"), "--list"]
    return path, re.findall(r"=> (/\S+)", subprocess.run(lister + [path], capture_output=True, text=True).stdout)


def measure_sizes():
    files = {tool: program_files(cmd) for tool, cmd in {**Setup.tools, **{t: [t] for t in OTHERS if shutil.which(t)}}.items()}
    return {"program": {tool: {"size": [os.path.getsize(path) / 1e6]} for tool, (path, _) in files.items()},
            "shared libraries": {tool: {"size": [sum(map(os.path.getsize, libs)) / 1e6]} for tool, (_, libs) in files.items()}}
