#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is reported without privileges, with some of them, and where /sys or /proc is not mounted. On the machine itself: nothing is attached.

    rights.py --sonde PATH

Needs root, setpriv and unshare; without them the cases are skipped.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SOME = NOBODY + ["--inh-caps=-all,+bpf,+perfmon", "--ambient-caps=-all,+bpf,+perfmon"]
ASKS_BPF = ("KPROBE_MULTI", "UPROBE_MULTI", "TP_BTF", "JMP32_V4", "FENTRY", "STACK_IDS")


def without(path):
    return ["unshare", "-m", "sh", "-c", 'umount -l %s && exec "$@"' % path, "sh"]


class Check:
    def __init__(self, sonde):
        self.sonde, self.passed, self.failed = sonde, 0, 0
        self.env = {k: v for k, v in os.environ.items() if k not in ("SONDE_TEST_MACHINE", "SONDE_BTF")}

    def run(self, front, argv, **env):
        return subprocess.run(front + [self.sonde] + argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60, cwd="/", env=dict(self.env, **env))

    def verdict(self, ok, what, p):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("not ok: %s: status %d\n%s%s" % (what, p.returncode, p.stdout, p.stderr))

    def info(self):
        """What this user may not ask is unknown."""
        p = self.run(NOBODY, ["--info"])
        state = {w[0]: w[1] for w in (l.split() for l in p.stdout.splitlines()) if len(w) > 1}
        self.verdict(all(state.get(f) in ("unknown", "yes") for f in ASKS_BPF), "--info of nobody", p)
        p = self.run([], ["--info"])
        self.verdict("unknown" not in p.stdout and p.returncode == 0, "--info of root", p)
        p = self.run(without("/sys"), ["--info"])
        self.verdict("  UPROBE           unknown" in p.stdout and "sysfs is not mounted" in p.stdout, "--info without /sys", p)

    def mounts(self):
        for place in ("kprobe:vfs_read", "uprobe:/proc/self/exe:main", "usdt:/proc/self/exe:a:b"):
            p = self.run(without("/sys"), ["-e", place + " { }"])
            self.verdict(p.returncode == 1 and "sysfs is not mounted at /sys" in p.stderr and "CONFIG_" not in p.stderr, place + " without /sys", p)
        # A build with sanitizers needs /proc to look for leaks.
        p = self.run(without("/proc"), ["-p", "1", "-e", "begin { }"], ASAN_OPTIONS="detect_leaks=0")
        self.verdict(p.returncode == 1 and "ERROR: cannot look for process 1: /proc is not mounted\n" in p.stderr, "-p without /proc", p)

    def tracefs(self):
        """The capabilities are there: the hint is about something else. The interpreter takes formats from the kernel's types."""
        p = self.run(SOME, ["--dry-run", "-e", "t:sched:sched_switch { print(args.next_pid); }"])
        self.verdict("needs root, or" not in p.stderr, "capabilities without tracefs", p)
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            print("skipped: this kernel has no BTF")
            return
        p = self.run(NOBODY, ["--vm", "-q", "-e", "t:sched:sched_switch { print((args.next_pid, sizeof(args.prev_comm), sizeof(args.prev_state))); }"])
        self.verdict(p.returncode == 0 and p.stdout.strip() == "(0, 16, 8)", "--vm without tracefs", p)


def main():
    p = argparse.ArgumentParser(description="Privileges and mounts.")
    p.add_argument("--sonde", required=True)
    sonde = shutil.which(p.parse_args().sonde)
    with tempfile.TemporaryDirectory(prefix="sonde-rights-") as top:
        os.chmod(top, 0o755)
        c = Check(shutil.copy(sonde, top))
        if os.geteuid() or subprocess.run(SOME + ["true"], capture_output=True).returncode or subprocess.run(without("/proc") + ["true"], capture_output=True).returncode:
            print("skipped: needs root, setpriv and unshare")
        else:
            c.info()
            c.mounts()
            c.tracefs()
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
