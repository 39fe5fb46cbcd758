#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every configuration variable, by the script and by the environment: values that are taken, and values that are not. Every option of the
command line: what it takes. What they do is tested by cases; here it is that they are there.

    settings.py --sonde PATH

A new variable or option needs a row here: the tables are compared with what --print-doc lists.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

NUMBER, BOOL = "number", "bool"
# name: kind or words, the least and the most.
CONFIG = {
    "max_strlen": (NUMBER, 1, 65536), "max_map_keys": (NUMBER, 1, 2**32 - 1), "max_probes": (NUMBER, 1, 2**32 - 1), "max_bpf_progs": (NUMBER, 1, 2**32 - 1),
    "max_cat_bytes": (NUMBER, 1, 2**30), "log_size": (NUMBER, 128, 2**30 - 1), "perf_rb_pages": (NUMBER, 0, 2**18), "on_stack_limit": (NUMBER, 0, 512),
    "print_maps_on_exit": (BOOL,), "cpp_demangle": (BOOL,), "lazy_symbolication": (BOOL,), "show_debug_info": (BOOL,),
    "missing_probes": ("error", "warn", "ignore"), "stack_mode": ("bpftrace", "perf", "raw", "build_id"),
    "license": ("GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"),
    "cache_user_symbols": ("PER_PID", "PER_PROGRAM", "NONE"), "str_trunc_trailer": ("..", "!", ""),
}
RENAMED = {"strlen": ("max_strlen", "70", "70"), "cat_bytes_max": ("max_cat_bytes", "70", "70"), "map_keys_max": ("max_map_keys", "70", "70"),
           "no_cpp_demangle": ("cpp_demangle", "1", "false")}
IGNORED = ["symbol_source", "max_type_res_iterations", "unstable_addr", "unstable_import", "unstable_macro", "unstable_map_decl", "use_blazesym",
           "unstable_tseries", "unstable_dw_ustack", "unstable_typeinfo", "unstable_import_statement"]
ENV_ONLY = ["btf", "kernel_source", "kernel_build", "vmlinux", "color"]

# Options as they are written, and a line that the output must have (None: none is wanted). %s: an empty file.
PROGRAM = ["-e", "begin { print(7); }"]
OPTIONS = [
    (["-e", "begin { print(7); }"], "7", "-e"), (["-l", "tracepoint:sched:sched_switch"], "tracepoint:sched:sched_switch", "-l"),
    (["--list", "-v", "tracepoint:sched:sched_switch"], "    pid_t next_pid", "--list -v"), (["-c", "true"], "7", "-c --cmd"), (["--cmd", "true"], "7", ""),
    (["-p", "SELF"], "7", "-p"), (["--pid", "SELF"], "7", "--pid"), (["--dwarf-pid", "SELF"], "7", "--dwarf-pid"), (["-o", "/dev/stdout"], "7", "-o"), (["--output", "/dev/stdout"], "7", "--output"),
    (["-f", "json"], '{"type": "value", "data": 7}', "-f"), (["--format", "text"], "7", "--format"), (["-B", "line"], "7", "-B"), (["-B", "full"], "7", ""), (["-B", "none"], "7", ""),
    (["--raw-strings"], "7", "--raw-strings"), (["-q"], "7", "-q"), (["--quiet"], "7", "--quiet"), (["-v"], "7", "-v"), (["--verbose"], "7", "--verbose"), (["--debuginfo", "/usr/lib/debug:+.debug"], "7", "--debuginfo"),
    (["-I", "/tmp", "-I", "/usr"], "7", "-I"), (["--include", "stdio.h"], "7", "--include"), (["--btf=%(btf)s"], "7", "--btf"), (["--unsafe"], "7", "--unsafe"),
    (["--check"], None, "--check"), (["--needs"], "  begin: 1", "--needs"), (["--keep-privileges"], "7", "--keep-privileges"),
    (["--check", "-c", "true", "--user", "nobody"], None, "--user"), (["--fmt", "%(script)s"], "begin { print(7); }", "--fmt"), (["--mode", "format", "%(script)s"], "begin { print(7); }", "--mode"),
    (["--mode", "codegen"], None, ""), (["--test", "-e", "test:a { }"], "[  PASSED  ] 1 test.", "--test"), (["--mode", "test", "-e", "test:a { }"], "[  PASSED  ] 1 test.", ""),
    (["--bench", "-e", "bench:a { return 1; }"], None, "--bench"), (["--mode", "bench", "-e", "bench:a { return 1; }"], None, ""),
    (["--probe-filter", "nothing"], "7", "--probe-filter"), (["--no-feature", "kprobe_multi,kprobe_session", "--no-feature", "uprobe_multi"], "7", "--no-feature"),
    (["--traceable-functions", "%(functions)s", "-l", "kprobe:*"], "kprobe:only_this_one", "--traceable-functions"), (["--dry-run"], None, "--dry-run"), (["--vm"], "7", "--vm"),
    (["-d", "ast"], "probe <1:1>", "-d"), (["--debug", "parse,types", "-d", "codegen,codegen-opt,dis,bpf,ir"], "probe <1:1>", "--debug"), (["-d", "all"], "probe <1:1>", ""),
    (["-k"], "7", "-k"), (["--warnings"], "7", "--warnings"), (["--no-warnings"], "7", "--no-warnings"), (["--strict"], "7", "--strict"), (["--check", "--cost"], None, "--cost"),
    (["--check", "--max-cpu", "0.5%"], None, "--max-cpu"), (["--info"], "System", "--info"),
    (["--print-doc", "options"], "# Options", "--print-doc"), (["-b"], "7", "-b"), (["--usdt-file-activation"], "7", "--usdt-file-activation"),
    (["-h"], None, "-h"), (["--help"], None, "--help"), (["-V"], None, "-V"), (["--version"], None, "--version"),
]


# With --check, --traceable-functions and a machine that has no kprobes: attach point -> what the message is, if there is one.
LISTED = {
    "kprobe:only_this_one": "", "kretprobe:only_this_one": "", "kprobe:only_this_one+4": "", "kprobe:only_*": "", "kprobe:vmlinux:only_*": "", "kprobe:vmlinux:only_this_one": "",
    "kprobe:other*": "ERROR: No matches for kprobe other*.", "kprobe:other": "WARNING: cannot check whether kprobe other exists on this machine: it is taken as written",
}


class Check:
    def __init__(self, sonde):
        self.sonde = sonde
        self.passed = self.failed = 0

    def verdict(self, ok, text):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print(text)

    def run(self, argv, **env):
        base = {k: v for k, v in os.environ.items() if k != "SONDE_COLOR"}
        return subprocess.run([self.sonde] + argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60, env=dict(base, **env))

    def show(self, name, block="", **env):
        return self.run(["--vm", "-q", "-e", '%s begin { print(config.%s); exit(); }' % (block, name)], **env)

    def three_ways(self, name, value):
        """By the block, and by both names in the environment."""
        text = value if re.fullmatch(r"\w+", value) else '"%s"' % value
        yield "config", lambda shown: self.show(shown, "config = { %s = %s }" % (name, text))
        for prefix in ("BPFTRACE_", "SONDE_"):
            yield prefix, lambda shown: self.show(shown, **{prefix + name.upper(): value})

    def taken(self, name, value, want, shown=None):
        for way, run in self.three_ways(name, value):
            p = run(shown or name)
            self.verdict(p.returncode == 0 and p.stdout.split("\n")[0] == want, "%s %s = %s: wanted %s\n%s%s" % (way, name, value, want, p.stdout, p.stderr))

    def refused(self, name, value):
        for way, run in self.three_ways(name, value):
            p = run(name)
            self.verdict(p.returncode == 1 and "ERROR: %s takes " % name in p.stderr, "%s %s = %s is taken\n%s%s" % (way, name, value, p.stdout, p.stderr))

    def variable(self, name, row):
        if row[0] == NUMBER:
            for good in (row[1], row[1] + 1, row[2]):
                self.taken(name, str(good), str(good))
            for bad in [row[2] + 1, "x"] + ([row[1] - 1] if row[1] else []):
                self.refused(name, str(bad))
        elif row[0] == BOOL:
            for words, want in ((("1", "true", "on", "yes"), "true"), (("0", "false", "off", "no"), "false")):
                for word in words:
                    self.taken(name, word, want)
            self.refused(name, "2")
            self.refused(name, "maybe")
        else:
            for word in row:
                self.taken(name, word, word)
            if name != "str_trunc_trailer":
                self.refused(name, "maybe")

    def config(self):
        for name, row in CONFIG.items():
            self.variable(name, row)
        for word, want in (("0", "NONE"), ("1", "PER_PID")):
            self.taken("cache_user_symbols", word, want)
        for name, (now, value, want) in RENAMED.items():
            self.taken(name, value, want, now)
            p = self.show(now, "config = { %s = %s }" % (name, value))
            self.verdict("WARNING: %s is now called %s" % (name, now) in p.stderr, "%s: no warning\n%s" % (name, p.stderr))
        for name in IGNORED:
            p = self.show("max_strlen", "config = { %s = 1 }" % name)
            self.verdict(p.returncode == 0 and p.stdout.split("\n")[0] == "1024", "%s is not ignored\n%s" % (name, p.stderr))
        for name in ENV_ONLY:
            p = self.show("max_strlen", "config = { %s = 1 }" % name)
            self.verdict(p.returncode == 1 and "%s can only be set as an environment variable" % name in p.stderr, "%s is taken\n%s" % (name, p.stderr))
        self.verdict(self.show("max_strlen", BPFTRACE_MAX_STRLEN="5", SONDE_MAX_STRLEN="6").stdout[:1] == "6", "SONDE_ does not win")
        known = set(re.findall(r"^\| (\w+) \| .*\|$", self.run(["--print-doc", "config"]).stdout, re.M)) - {"name"}
        self.verdict(known == set(CONFIG), "variables without a row, or the other way round: %s" % (known ^ set(CONFIG)))

    def environment(self):
        for prefix in ("BPFTRACE_", "SONDE_"):
            for value, has_colour in (("always", True), ("never", False), ("auto", False)):
                p = self.run(["--check", "-e", "begin { nosuch }"], **{prefix + "COLOR": value})
                self.verdict(p.returncode == 1 and ("\x1b[31m" in p.stderr) == has_colour, "%sCOLOR=%s\n%s" % (prefix, value, p.stderr))
            p = self.run(["--check"] + PROGRAM, **{prefix + "COLOR": "red"})
            self.verdict(p.returncode == 1 and "ERROR: %sCOLOR takes auto, always or never, not 'red'" % prefix in p.stderr, p.stderr)
            env = {k: v for k, v in os.environ.items() if k != "SONDE_BTF"}
            for value, ok in ((os.environ["SONDE_BTF"], True), ("/no/such/file", False)):
                p = subprocess.run([self.sonde, "--check", "-e", "begin { print(((struct fix_point *)0).x); }"], capture_output=True, encoding="utf-8", env=dict(env, **{prefix + "BTF": value}))
                self.verdict(p.returncode == (0 if ok else 1) and (ok or "ERROR: cannot read /no/such/file (of %sBTF)" % prefix in p.stderr), "%sBTF=%s\n%s" % (prefix, value, p.stderr))

    def options(self):
        with tempfile.TemporaryDirectory(prefix="sonde-settings-") as tmp:
            files = {"btf": os.environ["SONDE_BTF"], "script": os.path.join(tmp, "s.bt"), "functions": os.path.join(tmp, "functions")}
            for name, text in (("script", PROGRAM[1] + "\n"), ("functions", "only_this_one\n")):
                with open(files[name], "w") as f:
                    f.write(text)
            tested = set()
            for argv, want, names in OPTIONS:
                tested |= set(names.split())
                argv = [str(os.getpid()) if a == "SELF" else a % files if "%(" in a else a for a in argv]
                own = {"-e", "-l", "--list", "--fmt", "format", "--info", "--print-doc", "-h", "-V", "--help", "--version"} & set(argv)
                p = self.run(["--vm"] * (argv != ["--vm"] and not own - {"-e"}) + argv + ([] if own else PROGRAM))
                lines = p.stdout.split("\n")
                self.verdict(p.returncode == 0 and (want is None or want in lines) and (want or "7" not in lines),
                             "%s: wanted %s, exit status %d\n%s%s" % (argv, want, p.returncode, p.stdout[:2000], p.stderr))
            for place, message in LISTED.items():
                p = self.run(["--check", "--traceable-functions", files["functions"], "-e", place + " { @[probe] = count(); }"], SONDE_TEST_MACHINE=tmp)
                self.verdict(p.returncode == ("ERROR" in message) and (message in p.stderr if message else not p.stderr), "%s: wanted '%s'\n%s" % (place, message, p.stderr))
            p = self.run(["--traceable-functions", files["functions"], "-l", "kprobe:*"], SONDE_TEST_MACHINE=tmp)
            self.verdict(p.stdout == "kprobe:only_this_one\n", "-l kprobe:* without kprobes\n%s%s" % (p.stdout, p.stderr))
        known = set(re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*)", "\n".join(l.split("|")[1] for l in self.run(["--print-doc", "options"]).stdout.split("\n") if l.startswith("| `") or l.startswith("| -"))))
        self.verdict(known and known <= tested, "options without a row: %s" % (known - tested))


def main():
    p = argparse.ArgumentParser(description="Every configuration variable and option.")
    p.add_argument("--sonde", required=True)
    c = Check(p.parse_args().sonde)
    c.config()
    c.environment()
    c.options()
    print("%d passed, %d failed" % (c.passed, c.failed))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
