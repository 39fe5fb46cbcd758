# SPDX-License-Identifier: GPL-2.0-only
"""Attaching to many places in kernels of the lab: the machine of the benchmark may have no kprobes, and attaching depends on the kernel."""

import concurrent.futures
import os
import re
import shlex
import subprocess
import tempfile

from commands import copy_libc, program_files
from common import CPUS, ENV, FEW_ROUNDS, Setup, on_cpus, parse_cost, path_of, say, write_file

LAB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "lab")
LIBC = "/lab/libc.so"
# An emulator is one thread: two of them run at a time, each on a CPU of its own, with these kernels one after the other.
LANES = [["6.1"], ["6.12", "sid"]]

# Thousands of functions, few of which run in an idle guest.
THOUSANDS = ("acpi_*", "pci_*", "tcp_*", "udp*", "ip*", "inet*", "__x64_sys_*", "__ia32_*", "sock_*", "net*", "nf*", "fib*", "xfrm*",
             "crypto_*", "cpufreq*", "dev_*")
KPROBES, KRETPROBES = (", ".join(f"{kind}:{f}" for f in THOUSANDS) for kind in ("kprobe", "kretprobe"))
TRACEPOINTS = "tracepoint:writeback:*, tracepoint:block:*"
ALL, NEW = ("sonde", "new", "old"), ("sonde", "new")
# kernel -> [(title, probes, tools)]. 6.1 attaches kprobes and uprobes one by one, and bpftrace takes a tenth of a second for each: few of them there.
ROWS = {
    "6.1": [("start-up", "", ALL), ("`kprobe:tcp_s*`", "kprobe:tcp_s*", ALL), ("`kretprobe:vfs_*`", "kretprobe:vfs_*", ALL),
            ("`uprobe:LIBC:sem*`", f"uprobe:{LIBC}:sem*", ALL), ("`tracepoint:…*`", TRACEPOINTS, NEW)],
    "6.12": [("start-up", "", ALL), ("`kprobe:…*`", KPROBES, ALL), ("`kretprobe:…*`", KRETPROBES, NEW),
             ("`uprobe:LIBC:*`", f"uprobe:{LIBC}:*", NEW), ("`tracepoint:…*`", TRACEPOINTS, NEW)],
    "sid": [("start-up", "", ALL), ("`kprobe:…*`", KPROBES, NEW), ("`uprobe:LIBC:*`", f"uprobe:{LIBC}:*", NEW), ("`tracepoint:…*`", TRACEPOINTS, NEW)],
}


def peer_items(cmd):
    """For a bpftrace: (items for make-overlay, its command in the guest)."""
    program, files = program_files(cmd)
    if program == os.path.realpath(cmd[0]):
        return [f"{program}=/usr/bin/bpftrace"], ["/usr/bin/bpftrace"]
    # In a folder of its own: the other programs of the guest must not find its libraries.
    folder, loader = tempfile.mkdtemp(dir=Setup.folder), os.path.normpath(os.path.join(program, "../../lib64/ld-linux-x86-64.so.2"))
    subprocess.run(["cp", "-L", *{*files, loader}, program, folder], check=True)
    return [f"{folder}=/peer"], ["/peer/ld-linux-x86-64.so.2", "--library-path", "/peer", "/peer/bpftrace"]


def guest_script(rows, commands):
    """Prints "sites ROW VERSION N" for each row, where sonde reports N probes, and "cost ROW TOOL …" for each sample."""
    scripts = [(probes and probes + " { @ = count(); } ") + "BEGIN { exit(); }" for _, probes, _ in rows]
    yield from (f"export {k}={v}" for k, v in ENV.items() if k.startswith("BPFTRACE_"))
    for i, script in enumerate(scripts):
        yield f"echo sites {i} $(uname -r | grep -o '^[0-9]*.[0-9]*') $(sonde -e {shlex.quote(script)} 2>&1 | sed -n 's/^Attached \\([0-9]*\\) probes*$/\\1/p')"
    for _ in range(FEW_ROUNDS):
        for i, (_, _, tools) in enumerate(rows):
            for tool in filter(commands.get, tools):
                argv = ["timeout", "-s", "KILL", "120", *commands[tool], "-e", scripts[i]]
                yield f"echo cost {i} {tool} $(/lab/launch {shlex.join(argv)})"


def measure_kernel(kernel, overlay, commands, cpu):
    """Returns what take_turns() does."""
    say(f"Linux {kernel}: boots")
    rows, own = ROWS[kernel], tempfile.mkdtemp(dir=Setup.folder)
    write_file(os.path.join(own, "measure"), "\n".join(guest_script(rows, commands)) + "\n")
    boot = [os.path.join(LAB, "boot"), kernel, "--timeout", "900", "--overlay", overlay, "--overlay", own, "--", "/bin/sh /measure"]
    titles, costs = [f"Linux {kernel}: {title}" for title, _, _ in rows], [{"sonde": []} for _ in rows]
    with subprocess.Popen(boot, stdout=subprocess.PIPE, text=True, preexec_fn=on_cpus([cpu])) as guest:
        for what, i, rest in (m.groups() for m in map(re.compile(r"(sites|cost) (\d+) (.+)").match, guest.stdout) if m):
            if what == "cost":
                say(f"{titles[int(i)]}: {rest}")
                tool, *words = rest.split()
                costs[int(i)].setdefault(tool, []).append(parse_cost(words))
            else:
                version, cnt = rest.split()
                titles[int(i)] = f"Linux {version}: {rows[int(i)][0]}" + (f", {int(cnt) - 1:,} sites" if cnt != "1" else "")  # BEGIN is one of them
    if guest.returncode:
        say(f"Linux {kernel}: the guest ended with status {guest.returncode}")
    return {title: {tool: {"wall": [s["wall"] for s in samples]} if all(samples) else {} for tool, samples in tools.items()}
            for title, tools in zip(titles, costs)}


def measure_guests():
    items = [f"{copy_libc()}={LIBC}", f"{path_of('launch')}=/lab/launch", f"{Setup.sonde}=/usr/bin/sonde", "/usr/bin/timeout"]
    commands = {"sonde": ["/usr/bin/sonde"]}
    for tool in [t for t in Setup.tools if t != "sonde"]:
        more, commands[tool] = peer_items(Setup.tools[tool])
        items += more
    overlay = tempfile.mkdtemp(dir=Setup.folder)
    subprocess.run([os.path.join(LAB, "make-overlay"), overlay] + items, check=True)
    subprocess.run([os.path.join(LAB, "fetch-kernels"), *ROWS], stdout=subprocess.DEVNULL)

    def measure_lane(kernels, cpu):
        return [measure_kernel(kernel, overlay, commands, cpu) for kernel in kernels]

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return {title: tools for lane in pool.map(measure_lane, LANES, CPUS * 2) for rows in lane for title, tools in rows.items()}
