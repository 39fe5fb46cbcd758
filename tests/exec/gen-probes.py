#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Random programs of several probes of several providers, with what these offer: arguments, tasks, stacks, structs of the kernel.

    gen-probes.py [--has WORDS] [--load COMMAND] [--seed N] [--count N] [--show] [--write DIR]

Each must be accepted, load and attach: a refusal by the verifier is a failure, and its program is printed. --load is run with the
script on standard input; --write leaves the scripts in a folder, for machines without Python. WORDS are the providers that the
machine has besides tracepoints, timers, software events, begin and end: kprobe fentry rawtracepoint iter uprobe=PROGRAM
(tests/programs/target).
"""
import argparse
import concurrent.futures
import importlib.machinery
import importlib.util
import os
import re
import shlex
import sys

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("gen", os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen-program.py"))
gen = importlib.util.module_from_spec(importlib.util.spec_from_loader("gen", loader))
loader.exec_module(gen)


class Provider:
    """An attach point, and what a body can use there: integers and strings."""

    def __init__(self, attach, ints=(), strs=(), needs=None):
        self.attach, self.ints, self.strs, self.needs = attach, list(ints), list(strs), needs


TASK_INTS = ["curtask.pid", "curtask.tgid", "curtask.flags", "curtask.parent.pid", "curtask.real_parent.tgid", "curtask.se.vruntime", "curtask.cred.uid.val",
             "curtask.signal.nr_threads", "curtask.start_time", "curtask.files.fdt.max_fds", "curtask.group_leader.pid",
             "curtask.parent.cred.gid.val", "(uint64)curtask.mm", "curtask.mm.total_vm", "curtask->prio", "(int64)curtask.exit_code"]
TASK_STRS = ["curtask.comm", "curtask.parent.comm", "curtask.nsproxy.uts_ns.name.nodename", "str(curtask.files.fdt.fd[0].f_path.dentry.d_name.name)",
             "str(curtask.fs.pwd.dentry.d_name.name)", "curtask.group_leader.comm"]
COMMON_INTS = ["pid", "tid", "uid", "gid", "cpu", "nsecs", "elapsed", "rand", "cgroup", "jiffies", "ncpus", "ppid", "usermode", "nsecs(boot)"]  + TASK_INTS
COMMON_STRS = ["comm", "probe", "pcomm", "username", "strftime(\"%H:%M\", nsecs)", "ksym(nsecs)", "ntop(nsecs & 0xffffffff)"]
STACKS = ["kstack", "kstack(3)", "kstack(perf, 5)", "ustack", "ustack(2)", "ustack(raw, 4)", "kstack(127)"]
FILE = "((struct file *)arg0)"
PROVIDERS = [
    Provider("begin"), Provider("end"), Provider("interval:s:1"), Provider("interval:ms:500"),
    Provider("profile:hz:99", ["reg(\"ip\")"], ["ksym(reg(\"ip\"))"]), Provider("software:page-faults:100"), Provider("software:cpu-clock:1000000"),
    Provider("tracepoint:sched:sched_switch", ["args.prev_pid", "args.next_pid", "args.prev_prio", "args->prev_state"], ["args.prev_comm", "args.next_comm"]),
    Provider("tracepoint:sched:sched_process_exec", ["args.pid", "args.old_pid"], ["str(args.filename)"]),
    Provider("tracepoint:sched:sched_process_fork", ["args.child_pid", "args.parent_pid"], ["str(args.child_comm)", "str(args.parent_comm)"]),
    Provider("tracepoint:syscalls:sys_enter_openat", ["args.dfd", "args.flags", "args.mode", "(uint64)args.filename"], ["str(args.filename)", "str(args.filename, 20)"]),
    Provider("tracepoint:syscalls:sys_enter_write", ["args.fd", "args.count"], ["str(args.buf, args.count)", "str(args.buf, 8)"]),
    Provider("tracepoint:syscalls:sys_exit_read", ["args.ret", "args.ret + 1"], ["strerror(args.ret)"]),
    Provider("tracepoint:raw_syscalls:sys_enter", ["args.id", "args.args[0]", "args.args[$b % 6]"], ["syscall_name(args.id)"]),
    Provider("tracepoint:syscalls:sys_enter_openat,tracepoint:syscalls:sys_enter_openat2", [], ["str(args.filename)"]),
    Provider("tracepoint:syscalls:sys_enter_f*", [], ["probe"]),
    Provider("kprobe:vfs_read", ["arg0", "arg2", FILE + ".f_flags", FILE + ".f_inode.i_ino", FILE + ".f_inode.i_sb.s_dev", "arg1", "reg(\"sp\")"],
             ["func", "str(" + FILE + ".f_path.dentry.d_name.name)", "str(" + FILE + ".f_path.dentry.d_parent.d_name.name)", "str(uptr(arg1), 16)", FILE + ".f_inode.i_sb.s_id"], "kprobe"),
    Provider("kprobe:vfs_read,kprobe:vfs_write", ["arg2"], ["func", "probe"], "kprobe"),
    Provider("kretprobe:vfs_write", ["retval", "(int32)retval"], ["func"], "kprobe"),
    Provider("kprobe:do_sys_openat2", ["arg0"], ["str(arg1)", "str(uptr(arg1))"], "kprobe"),
    Provider("kprobe:tcp_sendmsg", ["((struct sock *)arg0).__sk_common.skc_dport", "((struct sock *)arg0).__sk_common.skc_family", "bswap(((struct sock *)arg0).__sk_common.skc_dport)"],
             ["ntop(((struct sock *)arg0).__sk_common.skc_daddr)", "ntop(((struct sock *)arg0).__sk_common.skc_v6_daddr.in6_u.u6_addr8)"], "kprobe"),
    Provider("uprobe:%(uprobe)s:target_add", ["arg0", "arg1", "*(uint32 *)uptr(arg0)", "reg(\"sp\")"], ["func", "str(arg0)", "usym(arg0)"], "uprobe"),
    Provider("uretprobe:%(uprobe)s:target_add", ["retval"], ["func"], "uprobe"),
    Provider("uprobe:%(uprobe)s:target_*", [], ["func", "probe"], "uprobe"),
    Provider("fentry:vfs_read", ["args.count", "args.file.f_flags", "args.file.f_inode.i_ino", "(uint64)args.buf"], ["str(args.file.f_path.dentry.d_name.name)", "func", "str(args.buf, 10)"], "fentry"),
    Provider("fexit:vfs_write", ["retval", "args.count"], ["func"], "fentry"),
    Provider("rawtracepoint:sched_switch", ["arg0", "args.prev.pid", "args.next.tgid"], ["args.next.comm", "args.prev.comm"], "rawtracepoint"),
    Provider("iter:task", ["ctx.task.pid", "ctx.meta.seq_num"], ["ctx.task.comm"], "iter"),
]


NAMES = ("func", "probe", "ksym(", "usym(", "ntop(", "strftime(")  # shown as text, but of types of their own


class ProbesGenerator(gen.Generator):
    """Programs of several probes. They are loaded, not run to a known end: what they use may be different every time."""

    def __init__(self, seed, words):
        super().__init__(seed)
        self.words = words
        self.at = None

    def leaf(self):
        if self.r.random() < 0.35:
            return self.r.choice(self.at.ints) if self.at.ints and self.r.random() < 0.6 else self.r.choice(COMMON_INTS)
        return super().leaf()

    def string(self, d=2):
        if self.r.random() < 0.3:
            strs = [t for t in self.at.strs if not t.startswith(NAMES)]
            return self.r.choice(strs) if strs and self.r.random() < 0.6 else self.r.choice(TASK_STRS + ["comm"])
        return super().string(d)

    def stack(self):
        return self.r.choice(STACKS)

    def output(self):
        r = self.r.random()
        if r < 0.12:
            return self.pick("print(%s);" % self.stack(), 'printf("%%s %%s\\n", %s, comm);' % self.stack(), 'time("%H:%M:%S\\n");',
                             "print(%s);" % self.r.choice(COMMON_STRS + ["strftime(\"%s\", nsecs)"]), 'printf("%%s %%s %%s\\n", %s, %s, %s);' % tuple(self.r.choice(COMMON_STRS) for _ in range(3)),
                             'cat("/proc/loadavg");', 'errorf("%%s %%d\\n", comm, %s);' % self.integer(1), "print(nsecs);", "@big[probe] = count();",
                             "print(%s);" % self.r.choice(self.at.strs + ["comm"]), 'printf("%%s|%%s\\n", %s, %s);' % (self.r.choice(self.at.strs + ["comm"]), self.r.choice(COMMON_STRS)),
                             "print((pid, comm, (%s, %s)));" % (self.string(1), self.integer(1)))
        return super().output()

    def map_statement(self):
        r = self.r.random()
        if r < 0.15:
            return self.pick("@kst[kstack(5)] = count();", "@ust[ustack(4), comm] = count();",
                             "@both[kstack(3), ustack(3), %s] = sum(%s);" % (self.string(1), self.integer(1)), "@tasks[curtask.comm, curtask.pid] = count();",
                             "@start[tid] = nsecs;", "@lat = hist(nsecs - @start[tid]);", "if (@start[tid]) { @lat = hist(nsecs - @start[tid]); _ = delete(@start, tid); }",
                             "@by[comm, %s] = avg(%s);" % (self.integer(1), self.integer(1)), "@wide[%s, %s, %s, %s] = count();" % (self.string(1), self.string(1), self.integer(1), self.integer(1)),
                             "@p[probe] = count();", "@ctx[pid, tid, cpu, uid] = stats(%s);" % self.integer(1), "@task = curtask.pid;")
        return super().map_statement()

    def probe(self, provider):
        self.at = Provider(provider.attach % {"uprobe": self.words.get("uprobe", "")}, provider.ints, provider.strs)
        self.ints, self.strs, self.tuples = ["$a", "$b"], ["$s"], ["$t"]
        start = ["let $a: int64 = (int64)(7 + @zero);", "let $b: uint8 = (uint8)(250 + @zero);", '$s = "text";', '$t = (1 + @zero, "tuple");',
                 '$r = (a = (int64)@zero, b = (uint8)3, c = "sea");', "$bytes = (uint8[4])(uint32)(@zero + 0x01020304);", '$t3 = (@zero, ((int64)4, "four"), $a > 3);',
                 "$flag = $b > 200;"]
        lines = []
        for _ in range(self.r.choice((1, 2, 3, 5, 8))):
            lines += self.statement(2)
        text = "".join(l if isinstance(l, str) else repr(l) for l in lines)
        used = [l for l in start if re.search(re.escape(l.split(" = ")[0].replace("let ", "").split(":")[0]) + r"\b", text + "".join(start[4:]))]
        # What runs must not slow the machine down: a predicate that never holds, though nobody can know that before.
        predicate = "" if self.at.attach in ("begin", "end") else \
            "/%s/\n" % self.pick("pid == 99999999", 'comm == "no such name"', "@n > 1000 && pid != 0", "curtask.pid < 0", "nsecs < 5")
        return "%s\n%s{\n%s}\n" % (self.at.attach, predicate, gen.render(used + lines))

    def script(self):
        can = [p for p in PROVIDERS if not p.needs or p.needs in self.words]
        out = gen.FUNCTION
        out += "config = { missing_probes = error; max_strlen = %d }\n" % self.pick(64, 64, 200, 1024) if self.r.random() < 0.3 else ""
        self.at = PROVIDERS[0]
        start, _ = gen.Generator.program(self)
        out += "begin {\n%s}\n" % gen.render([l for l in start if l.startswith("@")] + ["@start[0] = nsecs;"])
        for _ in range(self.pick(1, 1, 1, 2, 3)):
            out += self.probe(self.r.choice(can))
        return out


def main():
    p = argparse.ArgumentParser(description="Random programs of several probes.")
    p.add_argument("--has", default="", metavar="WORDS", help="what the machine has: 'kprobe fentry rawtracepoint iter uprobe=./target'")
    p.add_argument("--load", metavar="COMMAND", default="build/sonde --dry-run -q --no-warnings", help="what has to succeed with them")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--show", action="store_true", help="print the first script and stop")
    p.add_argument("--write", metavar="DIR", help="write DIR/program-SEED-N.bt instead of loading them")
    args = p.parse_args()
    words = dict(w.partition("=")[::2] for w in args.has.split())

    def one(i):
        script = ProbesGenerator(args.seed * 1000003 + i, words).script()
        if args.write:
            with open(os.path.join(args.write, "program-%d-%d.bt" % (args.seed, i)), "w") as f:
                f.write(script)
            return True
        found = gen.run(shlex.split(args.load) + ["-"], script)
        if found.startswith("exit status 0\n"):
            return True
        print("not ok program %d of seed %d\n%s--- %s\n%s---" % (i, args.seed, script, args.load, found), flush=True)
        return False

    if args.show:
        print(ProbesGenerator(args.seed * 1000003, words).script())
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        results = list(pool.map(one, range(args.count)))
    if not args.write:
        print("# seed %d\n%d passed, %d failed" % (args.seed, sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
