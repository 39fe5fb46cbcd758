"""Scripts that bench/measure.py times and tests/guard counts instructions of."""

# Each is one line of everyday tracing: (what it tells, script). Only what bpftrace 0.17 reads as well.
ONE_LINERS = [
    ("files executed", 't:syscalls:sys_enter_execve { printf("%s -> %s\\n", comm, str(args->filename)); }'),
    ("system calls by process name", "t:raw_syscalls:sys_enter { @[comm] = count(); }"),
    ("system calls by probe", "t:syscalls:sys_enter_openat { @[probe] = count(); }"),
    ("sizes of reads", "t:syscalls:sys_enter_read { @ = hist(args->count); }"),
    ("bytes read by process name", "t:syscalls:sys_exit_read /args->ret > 0/ { @[comm] = sum(args->ret); }"),
    ("latency of reads", "t:syscalls:sys_enter_read { @start[tid] = nsecs; } "
     "t:syscalls:sys_exit_read /@start[tid]/ { @ns = hist(nsecs - @start[tid]); delete(@start[tid]); }"),
    ("system calls by pid", "t:raw_syscalls:sys_enter { @[pid] = count(); }"),
    ("system calls of one process name", 't:raw_syscalls:sys_enter /comm == "bash"/ { @ = count(); }'),
    ("bytes written by name and pid", "t:syscalls:sys_exit_write { @[comm, pid] = sum(args->ret); }"),
    ("who sleeps", 't:syscalls:sys_enter_nanosleep { printf("%d %s\\n", pid, comm); }'),
    ("calls of a library function", "uprobe:libc:malloc { @ = count(); }"),
    ("what is on the CPU, at 99 Hz", "profile:hz:99 { @[comm] = count(); }"),
]


# Cost per event: (name, what the table shows, script, the call that spin makes). bench/hand/NAME.bpf.c is the same by hand.
# A call of getppid() does next to nothing, so that the probe is what is measured. close() gets a number that is no file.
def _getppid(body, filter_=""):
    return f"t:syscalls:sys_enter_getppid {filter_}{{ {body} }}"


EVENTS = [
    ("empty", "nothing", _getppid(""), "getppid"),  # what is there whatever a script does: the base line
    ("filter", "filter only, never true", _getppid("@ = count();", "/pid == 1/ "), "getppid"),
    ("assign", "`@ = nsecs`", _getppid("@ = nsecs;"), "getppid"),
    ("count", "`@ = count()`", _getppid("@ = count();"), "getppid"),
    ("count_pid", "`@[pid] = count()`", _getppid("@[pid] = count();"), "getppid"),
    ("count_comm", "`@[comm] = count()`", _getppid("@[comm] = count();"), "getppid"),
    ("hist", "`@ = hist(nsecs)`", _getppid("@ = hist(nsecs);"), "getppid"),
    ("sum_two", "`@[comm, pid] = sum(args->fd)`", "t:syscalls:sys_enter_close /args->fd > 1000000/ { @[comm, pid] = sum(args->fd); }", "close"),
    ("latency", "latency pair", "t:syscalls:sys_enter_getppid { @s[tid] = nsecs; } "
     "t:syscalls:sys_exit_getppid /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }", "getppid"),
    ("printf", "`printf(\"%d %s\\n\", pid, comm)`", _getppid('printf("%d %s\\n", pid, comm);'), "getppid"),
    ("filename", "`printf(\"%s\\n\", str(args->specialfile))`", 't:syscalls:sys_enter_swapoff { printf("%s\\n", str(args->specialfile)); }',
     "swapoff"),
    ("kstack", "`@[kstack] = count()`", _getppid("@[kstack] = count();"), "getppid"),
    ("ustack", "`@[ustack] = count()`", _getppid("@[ustack] = count();"), "getppid"),
]


def long_script(lines):
    """One probe of that many lines: a bit of everything, as a generated script would have it."""
    out = ["BEGIN {"]
    for i in range(lines - 2):
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


def big_map(keys):
    """Fills a map and prints it at the end."""
    return f"config = {{ max_map_keys = {keys}; }} BEGIN {{ $i = 0; while ($i < {keys}) {{ @[$i] = $i * 7 % 1000; $i++; }} exit(); }}"
