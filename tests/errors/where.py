#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every builtin and function in every type of probe: where it must be accepted, and where it must be refused with a message that says why.

    where.py --sonde PATH       compiles, for the made-up machine of the environment, and counts
    where.py --write DIR --programs DIR   writes what must be accepted as scripts, which have to load on every kernel

A new builtin or function needs a row here: the table is compared with what --print-doc lists.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

PROBES = {
    "begin": "begin", "end": "end", "self": "self:signal:SIGUSR1", "test": "test:t", "bench": "bench:b",
    "kprobe": "kprobe:vfs_read", "kretprobe": "kretprobe:vfs_read",
    "uprobe": "uprobe:%(programs)s/where:work", "uretprobe": "uretprobe:%(programs)s/where:work", "usdt": "usdt:%(programs)s/where:where:mark",
    "tracepoint": "tracepoint:sched:sched_switch", "rawtracepoint": "rawtracepoint:sched_switch",
    "fentry": "fentry:vfs_read", "fexit": "fexit:vfs_read", "iter": "iter:task",
    "profile": "profile:hz:99", "interval": "interval:s:1", "software": "software:cpu-clock:1000000",
    "hardware": "hardware:cache-misses:1000000", "watchpoint": "watchpoint:0x10000000:8:w",
    "asyncwatchpoint": "asyncwatchpoint:0x10000000:8:w",
}

ALL = set(PROBES)
REGS = {"kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "profile", "interval", "software", "hardware", "watchpoint", "asyncwatchpoint"}
SELF = {"begin", "end", "self", "test", "bench"}
# Whom a signal would go to is not known where nothing of a process happens.
SIGNAL = ALL - SELF - {"iter"}

# name, statement, where it is accepted (everywhere, if nothing is said), where the argument decides. {args}: a named argument of the probe.
# What changes something must not happen: the scripts of --write are attached for a moment.
ROWS = [
    ("args", "print({args});", {"tracepoint", "rawtracepoint", "fentry", "fexit", "uprobe"}),
    ("argN", "print(arg0);", {"kprobe", "uprobe", "usdt", "rawtracepoint"}),
    ("sargN", "print(sarg0);", {"kprobe", "uprobe"}),
    ("retval", "print(retval);", {"kretprobe", "uretprobe", "fexit"}),
    ("ctx", "print(ctx);", REGS | {"iter"}),
    ("func", "print(func);", {"kprobe", "kretprobe", "uprobe", "uretprobe", "fentry", "fexit"}),
    ("reg", 'print(reg("sp"));', REGS),
    ("uaddr", 'print(uaddr("counter"));', {"uprobe", "uretprobe", "usdt"}),
    ("signal", "if (pid == 0xffffffff) {{ signal(10); }}", SIGNAL),
    ("signal_thread", 'if (pid == 0xffffffff) {{ signal_thread("SIGUSR1"); }}', SIGNAL),
    ("override", "if (pid == 0xffffffff) {{ override(1); }}", {"kprobe"}),
    # Where it can be, what it takes comes from the arguments of certain functions: see SPECIAL.
    ("path", "print(path((struct path *)0));", set(), {"fentry", "fexit", "iter"}),
    ("socket_cookie", "print(socket_cookie((struct sock *)0));", set(), {"fentry", "fexit", "iter", "rawtracepoint"}),
    ("pid", "print(pid);"), ("pid", "print(pid(init));"), ("tid", "print(tid);"), ("cpid", "print(cpid);"), ("uid", "print(uid);"), ("gid", "print(gid);"),
    ("nsecs", "print(nsecs);"), ("nsecs", "print(nsecs(monotonic));"), ("nsecs", "print(nsecs(tai));"), ("nsecs", "print(nsecs(sw_tai));"),
    ("elapsed", "print(elapsed);"), ("cpu", "print(cpu);"), ("ncpus", "print(ncpus);"), ("numaid", "print(numaid);"),
    ("jiffies", "print(jiffies);"), ("curtask", "print(curtask.pid);"), ("rand", "print(rand);"), ("cgroup", "print(cgroup);"),
    ("probe", "print(probe);"), ("comm", "print(comm);"), ("comm", "print(comm(1));"), ("ppid", "print(ppid);"), ("pcomm", "print(pcomm);"),
    ("leader_tid", "print(leader_tid);"), ("leader_comm", "print(leader_comm(curtask));"), ("username", "print(username);"),
    ("has_cpid", "print(has_cpid);"), ("usermode", "print(usermode);"), ("probetype", "print(probetype);"), ("config", "print(config.max_strlen);"),
    ("printf", 'printf("%d %s\\n", pid, comm);'), ("print", "print((1, comm));"), ("errorf", 'errorf("%d", pid);'), ("warnf", 'warnf("%d", pid);'),
    ("debugf", 'debugf("%d", pid);'), ("cat", 'cat("/proc/%d/comm", pid);'), ("assert", 'assert(pid != 0, "zero");'),
    ("static_assert", 'static_assert(true, "no");'), ("fail", 'if comptime (false) {{ fail("no"); }}'), ("time", "time();"),
    ("strftime", 'print(strftime("%H", nsecs));'), ("join", "join((char **)0);"), ("exit", "if (pid == 0) {{ exit(); }}"),
    ("delete", "@d[1] = 1; delete(@d, 1);"), ("has_key", "print(has_key(@d, 1));"), ("find", "if (find(@d, 1, $found)) {{ print($found); }}"),
    ("len", "print(len(@d));"), ("clear", "clear(@d);"), ("zero", "zero(@d);"),
    ("count", "@count[1] = count();"), ("sum", "@sum = sum(1);"), ("min", "@min = min(1);"), ("max", "@max = max(1);"), ("avg", "@avg = avg(1);"),
    ("stats", "@stats = stats(1);"), ("hist", "@hist = hist(1);"), ("lhist", "@lhist = lhist(1, 0, 10, 1);"),
    ("tseries", "@tseries = tseries(1, 1s, 5);"), ("quantiles", "@quantiles = quantiles(1);"),
    ("str", "print(str(0));"), ("buf", "print(buf(0, 4));"), ("kaddr", 'print(kaddr("vfs_read"));'), ("ksym", "print(ksym(0));"),
    ("kptr", "print(kptr(0));"), ("uptr", "print(uptr(0));"), ("strncmp", 'print(strncmp(comm, "a", 1));'), ("is_err", "print(is_err((int8 *)pid));"),
    ("bswap", "print(bswap(pid));"), ("kstack", "print(kstack(3));"), ("ustack", "print(ustack(perf, 3));"), ("dw_ustack", "print(dw_ustack(perf, 3));"),
    ("usym", "print(usym(0));"),
    ("system", 'system("true");'), ("exec", 'exec("true", comm);'), ("write_user", "if (pid == 0xffffffff) {{ print(write_user(0, comm, 1)); }}"), ("unwatch", "unwatch(0);"),
    ("strlen", "print(strlen(comm));"), ("strcap", "print(strcap(comm));"), ("strstr", 'print(strstr(comm, "a"));'),
    ("strcontains", 'print(strcontains(comm, "a"));'), ("memcmp", "print(memcmp(comm, comm, 4));"), ("str_concat", "print(str_concat(comm, comm));"),
    ("strerror", "print(strerror(2));"), ("signal_name", "print(signal_name(9));"), ("syscall_name", "print(syscall_name(0));"),
    ("ntop", "print(ntop(1));"), ("pton", 'print(pton("127.0.0.1"));'), ("macaddr", "print(macaddr((uint8 *)0));"),
    ("cgroupid", 'print(cgroupid("/sys/fs/cgroup"));'), ("cgroup_path", "print(cgroup_path(cgroup));"),
    ("container_of", "print(container_of((int32 *)0, typeof(struct task_struct), pid));"),
    ("is_array", "print(is_array(comm));"), ("is_integer", "print(is_integer(pid));"), ("is_unsigned_integer", "print(is_unsigned_integer(pid));"),
    ("is_literal", "print(is_literal(1));"), ("is_ptr", "print(is_ptr(curtask));"), ("is_scalar", "print(is_scalar(@d));"),
    ("assert_str", "assert_str(comm);"), ("default_str_length", "print(default_str_length());"), ("kfunc_exist", 'print(kfunc_exist("vfs_read"));'),
    ("kfunc_allowed", 'print(kfunc_allowed("vfs_read"));'), ("is_str", "print(is_str(comm));"), ("getopt", 'print(getopt("number", 1));'),
    ("skboutput", 'print(skboutput("/tmp/where.pcap", (struct sk_buff *)0, 1, 0));'),
    ("percpu_kaddr", 'print(percpu_kaddr("runqueues").nr_running);'),
]
# Of these the kernel has to say more than the type of probe; the kernel tests run them.
LATER = {"percpu_kaddr", "write_user", "override", "cgroupid", "skboutput"}
ARGS = {"tracepoint": "args.next_pid", "rawtracepoint": "args.prev.pid", "fentry": "args.count", "fexit": "args.count", "uprobe": "args.number"}
SPECIAL = [
    "fentry:filp_close {{ print(path(args.filp.f_path)); }}", "fexit:filp_close {{ print(path(args.filp.f_path)); }}",
    "fentry:tcp_close {{ print(socket_cookie(args.sk)); }}", "fexit:tcp_close {{ print(socket_cookie(args.sk)); }}",
]


def statement(row, probe):
    return row[1].format(args=ARGS.get(probe, "args"))


def is_accepted(row, probe):
    return len(row) < 3 or probe in row[2]


class Check:
    def __init__(self, sonde, programs):
        self.sonde, self.programs = sonde, programs
        self.passed = self.failed = 0

    def verdict(self, ok, text):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print(text)

    def compile(self, probe, rows):
        """The messages, by the number of the row."""
        script = PROBES[probe] % {"programs": self.programs} + " {\n" + "".join(statement(r, probe) + "\n" for r in rows) + "}\n"
        p = subprocess.run([self.sonde, "--check", "--unsafe", "--no-warnings", "-e", script], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60)
        errors = {}
        for line, text in re.findall(r"^stdin:(\d+):[\d-]+: ERROR: (.*)$", p.stderr, re.M):
            errors.setdefault(int(line) - 2, text)
        if p.returncode not in (0, 1) or (p.returncode == 1) != bool(errors):
            self.verdict(False, "%s: exit status %d\n%s" % (probe, p.returncode, p.stderr))
        return errors

    def probe(self, probe):
        good = [r for r in ROWS if is_accepted(r, probe)]
        bad = [r for r in ROWS if not is_accepted(r, probe) and (len(r) < 4 or probe not in r[3])]
        errors = self.compile(probe, good)
        for i, r in enumerate(good):
            self.verdict(i not in errors, "%s { %s } is refused: %s" % (probe, statement(r, probe), errors.get(i)))
        errors = self.compile(probe, bad)
        for i, r in enumerate(bad):
            # The message says which it is, and where it can be.
            ok = i in errors and re.search(r"\b%s\b" % re.sub(r"N$", r"\\d", r[0]), errors[i]) and re.search(r"only|can ?not|is for|takes|has no", errors[i])
            self.verdict(bool(ok), "%s { %s } must be refused: %s" % (probe, statement(r, probe), errors.get(i)))

    def special(self):
        for script in SPECIAL:
            p = subprocess.run([self.sonde, "--check", "-e", script.format()], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60)
            self.verdict(p.returncode == 0, script + "\n" + p.stderr)

    def complete(self):
        doc = lambda page: set(re.findall(r"^## (\w+)", subprocess.run([self.sonde, "--print-doc", page], capture_output=True, encoding="utf-8").stdout, re.M))
        self.verdict(not doc("functions") ^ {r[0] for r in ROWS}, "functions without a row, or the other way round: %s" % (doc("functions") ^ {r[0] for r in ROWS}))
        self.verdict(not doc("probes") ^ ALL, "probe types without a row, or the other way round: %s" % (doc("probes") ^ ALL))


def build_program(folder):
    subprocess.run(["cc", "-O1", "-g", "-no-pie", "-o", os.path.join(folder, "where"), os.path.join(TESTS, "programs", "where.c")], check=True)


def write(folder, programs):
    for probe in ALL - {"test", "bench", "hardware"}:
        rows = [r for r in ROWS if is_accepted(r, probe) and r[0] not in LATER]
        for i in range(0, len(rows), 8):
            with open(os.path.join(folder, "%s-%d.bt" % (probe, i // 8)), "w") as f:
                # @d has a type wherever it is used.
                f.write("%s { @d[1] = 1; %s }\n" % (PROBES[probe] % {"programs": programs}, "\n".join(statement(r, probe) for r in rows[i:i + 8])))


def main():
    p = argparse.ArgumentParser(description="Every builtin and function in every type of probe.")
    p.add_argument("--sonde")
    p.add_argument("--write", metavar="DIR")
    p.add_argument("--programs", metavar="DIR", help="where the probed program is then: tests/programs/bin")
    args = p.parse_args()
    if args.write:
        write(args.write, args.programs)
        return 0
    tmp = tempfile.mkdtemp(prefix="sonde-where-")
    try:
        build_program(tmp)
        c = Check(args.sonde, tmp)
        for probe in PROBES:
            c.probe(probe)
        c.special()
        c.complete()
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
