"""Attaching to and detaching from many places, in kernels of the lab: the machine of the benchmark may have no kprobes, and how it is done depends on the kernel.

The guests are emulated, so everything in them is 10 to 30 times slower, and waiting for other CPUs is not: the ratios are what counts. An emulator is one
thread, so that two guests run at a time, each on a CPU of its own."""

import concurrent.futures
import os
import queue
import re
import shlex
import subprocess
import tempfile

from common import CPUS, ENV, Cost, Mood, Setup, num, on_cpus, ratio, say, table, times_due

LAB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "lab")
LIBC = "/lab/libc.so"
LIMIT_S = 300  # for one command

# Several thousand functions of which few run in an idle guest.
THOUSANDS = ("acpi_*", "pci_*", "tcp_*", "udp*", "ip*", "inet*", "__x64_sys_*", "__ia32_*", "sock_*", "net*", "nf*", "fib*", "xfrm*", "crypto_*", "cpufreq*", "dev_*")


def count(places):
    return ", ".join(places) + " { @ = count(); } BEGIN { exit(); }"


TURNS = 4
# kernel -> [(title, script, {tool: runs, in that many turns})]. 6.1 of Debian has no links for many probes: there a bpftrace takes a tenth of a second for
# each site. All tracepoints take it minutes; 0.17 does not get through them. What Sonde does at once it does often: an emulator is slow at new code.
ALL = {"sonde": 8, "new": 2, "old": 2}
NEW = {"sonde": 8, "new": 3}
NEW_ONCE = {"sonde": 8, "new": 1}
NEW_TWICE = {"sonde": 24, "new": 2}
AT_ONCE = {"sonde": 40, "new": 4}
ROWS = {
    "6.1": [
        ("`kprobe:tcp_*`", count(["kprobe:tcp_*"]), ALL),
        ("`kretprobe:vfs_*`", count(["kretprobe:vfs_*"]), {"sonde": 8, "new": 4, "old": 4}),
        ("`uprobe:LIBC:str*`", count([f"uprobe:{LIBC}:str*"]), {"sonde": 40, "new": 2, "old": 2}),
        ("`tracepoint:*:*`", count(["tracepoint:*:*"]), NEW_TWICE),
    ],
    "6.12": [
        ("`kprobe:…*`, thousands", count(["kprobe:" + f for f in THOUSANDS]), ALL),
        ("`kretprobe:…*`, thousands", count(["kretprobe:" + f for f in THOUSANDS]), ALL),
        ("`uprobe:LIBC:*`", count([f"uprobe:{LIBC}:*"]), AT_ONCE),
        ("`tracepoint:*:*`", count(["tracepoint:*:*"]), NEW_TWICE),
    ],
    "sid": [
        ("`kprobe:…*`, thousands", count(["kprobe:" + f for f in THOUSANDS]), NEW),
        ("`uprobe:LIBC:*`", count([f"uprobe:{LIBC}:*"]), AT_ONCE),
        ("`tracepoint:*:*`", count(["tracepoint:*:*"]), NEW_ONCE),
    ],
}
START = ("`BEGIN { exit(); }`", "BEGIN { exit(); }", {"sonde": 60, "new": 4, "old": 4})


def peer_items(cmd):
    """What makes a bpftrace run in a guest: (items for make-overlay, its command there)."""
    root = os.path.dirname(os.path.realpath(cmd[0]))
    loader = os.path.join(root, "usr/lib64/ld-linux-x86-64.so.2")
    if not os.path.exists(loader):
        return [f"{cmd[0]}=/usr/bin/bpftrace"], ["/usr/bin/bpftrace"]
    program = os.path.join(root, "usr/bin/bpftrace")
    listed = subprocess.run([loader, "--library-path", os.path.join(root, "usr/lib/x86_64-linux-gnu"), "--list", program],
                            capture_output=True, text=True, check=True).stdout
    files = re.findall(r"=> (/\S+)", listed)
    # In a folder, which is copied as it is: the libraries are not for the other programs there.
    folder = tempfile.mkdtemp(dir=Setup.scratch)
    for f in files + [loader, program]:
        subprocess.run(["cp", "-L", f, folder], check=True)
    return [f"{folder}=/peer"], ["/peer/ld-linux-x86-64.so.2", "--library-path", "/peer", "/peer/bpftrace"]


def measure_kernel(kernel, overlay, commands, cpu):
    """[(title, number of sites, {tool: Cost})]"""
    rows = [START] + ROWS[kernel]
    lines = [f"export {k}={v}" for k, v in ENV.items() if k.startswith("BPFTRACE_")]
    for i, (_, script, _) in enumerate(rows):
        # The number of sites, from sonde: "Attached N probes", of which one is BEGIN.
        lines.append(f"echo sites {i} $(sonde -e {shlex.quote(script)} 2>&1 | sed -n 's/^Attached \\([0-9]*\\) probes*$/\\1/p')")
    for turn in range(TURNS):
        for i, (_, script, tools) in enumerate(rows):
            for tool, cnt in tools.items():
                if tool in commands:
                    argv = ["timeout", "-s", "KILL", str(LIMIT_S)] + commands[tool] + ["-e", script]
                    lines += [f"echo cost {i} {tool} $(/lab/launch {shlex.join(argv)})"] * times_due(turn, cnt, TURNS)
    own = tempfile.mkdtemp(dir=Setup.scratch)
    with open(os.path.join(own, "measure"), "w") as f:
        f.write("\n".join(lines) + "\n")
    boot = [os.path.join(LAB, "boot"), kernel, "--timeout", "3000", "--overlay", overlay, "--overlay", own, "--", "/bin/sh /measure"]
    found = [(title, {}) for title, _, _ in rows]
    sites = {}
    mood = Mood([cpu])
    mood.ask(Mood.OFTEN_MS)
    with subprocess.Popen(boot, stdout=subprocess.PIPE, text=True, preexec_fn=on_cpus([cpu])) as guest:
        for words in map(str.split, guest.stdout):
            if words[:1] == ["sites"] and len(words) == 3:
                sites[int(words[1])] = int(words[2]) - 1
            elif words[:1] == ["cost"] and len(words) == 8:
                i, tool, wall, took, rss, status = int(words[1]), words[2], *map(int, words[3:7])
                was = mood.ask(Mood.OFTEN_MS)
                say(f"{kernel}: {found[i][0]}: {tool}, {wall / 1e9:.1f} s" + (f", status {status}" if status else ""))
                if status == 0:
                    found[i][1].setdefault(tool, Cost()).add(wall, took, rss, was)
    mood.stop()
    if guest.returncode:
        say(f"{kernel}: the guest did not come to its end")
    return [(title, sites.get(i, 0), costs) for i, (title, costs) in enumerate(found) if costs]


def measure_guests(libc):
    """[(kernel, rows)]"""
    items = [f"{libc}={LIBC}", f"{Setup.launch}=/lab/launch", f"{Setup.sonde}=/usr/bin/sonde", "/usr/bin/timeout"]
    commands = {"sonde": ["/usr/bin/sonde"]}
    for tool, cmd in Setup.tools.items():
        if tool != "sonde":
            more, commands[tool] = peer_items(cmd)
            items += more
    overlay = tempfile.mkdtemp(dir=Setup.scratch)
    subprocess.run([os.path.join(LAB, "make-overlay"), overlay] + items, check=True)
    free = queue.Queue()
    for cpu in CPUS[:2]:
        free.put(cpu)

    def one(kernel):
        cpu = free.get()
        try:
            say(f"many probes in a guest, Linux {kernel}")
            return kernel, measure_kernel(kernel, overlay, commands, cpu)
        finally:
            free.put(cpu)

    kernels = []
    for kernel in ROWS:
        if subprocess.run([os.path.join(LAB, "fetch-kernels"), kernel], capture_output=True).returncode:
            say(f"kernel {kernel} is not to be had")
        else:
            kernels.append(kernel)
    with concurrent.futures.ThreadPoolExecutor(free.qsize()) as pool:
        return list(pool.map(one, kernels))


def guest_ratios(guests, tool, word):
    """"kernel title" -> how long Sonde took, of the other's time, for the rows whose title has the word."""
    return {f"{kernel} {title}": c["sonde"].wall / c[tool].wall
            for kernel, rows in guests for title, _, c in rows if word in title and tool in c and "sonde" in c}


def show_guests(guests):
    peers = [t for t in ("new", "old") if t in Setup.tools]
    print("## Many probes, in other kernels\n")
    print("Attaching to many places, each with `{ @ = count(); }`, and detaching, in emulated guests, two at a time: everything is slower there, so the ratios count. ms of wall time; "
          "start-up is the first row of each kernel. `–` is what was left out.\n")
    rows = []
    for kernel, found in guests:
        for title, sites, c in found:
            rows.append([kernel, title, f"{sites:,}" if sites else ""] + [num(c[t].wall) if t in c else "–" for t in ["sonde"] + peers]
                        + [ratio(c["sonde"].wall, c[t].wall) if t in c and "sonde" in c else "–" for t in peers])
    table(["Linux", "", "sites", "sonde"] + [Setup.titles[t] for t in peers] + [f"÷ {Setup.titles[t]}" for t in peers], rows)
