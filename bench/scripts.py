# SPDX-License-Identifier: GPL-2.0-only
"""Scripts of the benchmark. tests/guard counts the instructions of some."""

# Cost per event: (name in bench/hand.bpf.c, title, script, the call that bench/spin.c makes). getppid() does next to nothing, so most of the time is
# that of the probe.
def _getppid(body, filter_=""):
    return f"t:syscalls:sys_enter_getppid {filter_}{{ {body} }}"


EVENTS = [
    ("empty", "empty probe", _getppid(""), "getppid"),
    ("filter", "filter that is never true", _getppid("@ = count();", "/pid == 1/ "), "getppid"),
    ("assign", "`@ = nsecs`", _getppid("@ = nsecs;"), "getppid"),
    ("count", "`@ = count()`", _getppid("@ = count();"), "getppid"),
    ("count_pid", "`@[pid] = count()`", _getppid("@[pid] = count();"), "getppid"),
    ("count_comm", "`@[comm] = count()`", _getppid("@[comm] = count();"), "getppid"),
    ("hist", "`@ = hist(nsecs)`", _getppid("@ = hist(nsecs);"), "getppid"),
    ("sum_two", "`@[comm, pid] = sum(args->fd)`", "t:syscalls:sys_enter_close /args->fd > 1000000/ { @[comm, pid] = sum(args->fd); }", "close"),
    ("latency", "latency by two probes", "t:syscalls:sys_enter_getppid { @s[tid] = nsecs; } "
     "t:syscalls:sys_exit_getppid /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }", "getppid"),
    ("print", "`printf(\"%d %s\\n\", pid, comm)`", _getppid('printf("%d %s\\n", pid, comm);'), "getppid"),
    ("filename", "`printf(\"%s\\n\", str(…))`", 't:syscalls:sys_enter_swapoff { printf("%s\\n", str(args->specialfile)); }', "swapoff"),
    ("kstack", "`@[kstack] = count()`", _getppid("@[kstack] = count();"), "getppid"),
    ("ustack", "`@[ustack] = count()`", _getppid("@[ustack] = count();"), "getppid"),
]


def long_script(lines):
    """That many lines, with a bit of everything; a probe of each 4000, since the kernel limits the branches of one."""
    out = ["BEGIN {"]
    for i in range(lines - 2):
        if i and i % 4000 == 0:
            out.append("} BEGIN {")
        n = i // 5 % 20
        out.append((
            f"    $v{n} = {i};",
            f"    @a[{i % 97}] = $v{n} + {i};",
            f'    printf("%d is line %d\\n", $v{n}, {i});',
            f"    @c{i % 20} = count();",
            f"    if ($v{n} > @a[{i % 97}]) {{ @d[{i % 13}] = sum({i}); }}",
        )[i % 5])
    out.append("}")
    return "\n".join(out) + "\n"


def many_probes(count):
    """That many probes with bodies of their own."""
    return "".join(f"interval:s:{i + 1000} {{ @[{i}] = count(); }}\n" for i in range(count))
