"""What reaches the output: printed events, and maps of many keys."""

import os
import time

from common import MANY_KEYS_ENV, Setup, Spin, Tracer, cpus_beside, num, ratio, say, script_args, table

LINE = b" spin\n"
# Several from each call, so that it is not the call that limits the producer.
EACH = 10
SCRIPT = 't:syscalls:sys_enter_getppid /comm == "spin"/ { unroll(%d) { printf("%%d %%s\\n", pid, comm); } }' % EACH
CPU_RATE = 40_000  # events a second that every tool prints without loss


class Lines:
    """Counts the lines that a growing file got."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.rest = b""

    def count(self):
        data = self.rest + self.file.read()
        self.rest = data[-len(LINE) + 1:] if not data.endswith(LINE) else b""
        return data.count(LINE)

    def wait(self, want):
        """Lines that came, when all are there or no more come."""
        got, quiet_since = 0, time.monotonic()
        while got < want and time.monotonic() - quiet_since < 0.3:
            n = self.count()
            got += n
            if n:
                quiet_since = time.monotonic()
            else:
                time.sleep(0.01)
        return got


class Printed:
    rate = 0.0        # events a second without loss, all producers together
    is_all = False    # no loss as fast as the producers go
    cpu_ns = None     # of the tracer, for each event, at CPU_RATE
    cpu_top_ns = None

    def better_of(self, other):
        best = self if self.rate >= other.rate else other
        best.cpu_ns = min([c for c in (self.cpu_ns, other.cpu_ns) if c], default=None)
        best.cpu_top_ns = min([c for c in (self.cpu_top_ns, other.cpu_top_ns) if c], default=None)
        return best


def trial(tracer, lines, spins, rate, seconds):
    """Whether all was printed and soon, events a second, and nanoseconds of the tracer's for each. What is printed only long after the
    last call had been kept by a large buffer, which would have overflown in a longer trial."""
    calls = int((rate or 3_000_000) * seconds / len(spins) / EACH)
    cnt = calls * EACH
    cpu = tracer.cpu_ns()
    for s in spins:
        s.begin("getppid", calls, rate // len(spins) // EACH)
    took = max([s.end() for s in spins]) * calls / 1e9
    ended = time.monotonic()
    got = lines.wait(cnt * len(spins))
    is_soon = time.monotonic() - ended < 0.05 + 0.1 * seconds
    return got == cnt * len(spins) and is_soon, cnt * len(spins) / took, (tracer.cpu_ns() - cpu) / max(got, 1)


def lossless(tracer, lines, spins, rate, seconds):
    """The first of three trials that lost nothing, else the last: once may be the machine's doing, three times is not."""
    for _ in range(3):
        got = trial(tracer, lines, spins, rate, seconds)
        if got[0]:
            break
    return got


def find_rate(tracer, lines, spins, seconds, start):
    """Doubles the rate until something is lost, then halves the step in the ratio: within 5 % of the limit."""
    result = Printed()
    low, high, rate = 0, None, start
    while high is None:
        ok, real, cpu = lossless(tracer, lines, spins, rate, seconds)
        if not ok:
            high = rate
        elif real < 0.8 * rate:
            # That is all that the producers can do.
            ok, real, cpu = lossless(tracer, lines, spins, 0, seconds)
            if ok:
                result.rate, result.is_all, result.cpu_top_ns = real, True, cpu
                return result
            high = real
        else:
            low, result.rate, result.cpu_top_ns, rate = rate, real, cpu, rate * 2
    for _ in range(2 if Setup.is_quick else 4):
        if not low:
            break
        rate = int((low * high) ** 0.5)
        ok, real, cpu = lossless(tracer, lines, spins, rate, seconds)
        if ok and real >= 0.8 * rate:
            low, result.rate, result.cpu_top_ns = rate, real, cpu
        else:
            high = rate
    return result


def measure_printed(producers):
    """{tool: Printed}: the better of two rounds, in which the tools take turns."""
    found = {}
    seconds = 0.3 if Setup.is_quick else 0.5
    # The old one is so slow that more producers tell nothing new.
    commands = {t: script_args(t, SCRIPT) for t in Setup.tools if producers == 1 or t != "old"}
    spins = [Spin(i) for i in range(producers)]
    for _ in range(1 if Setup.is_quick else 2):
        for tool, cmd in commands.items():
            say(f"printed events, {producers} producer{'s'[:producers > 1]}: {tool}")
            got = measure_turn(cmd, spins, seconds, found.get(tool))
            if got:
                found[tool] = got
    for s in spins:
        s.stop()
    return found


def measure_turn(cmd, spins, seconds, last):
    """One tracer's; what was found before is where the search begins, and stays where it was better."""
    path = os.path.join(Setup.scratch, "printed")
    with open(path, "wb") as out:
        tracer = Tracer(cmd, out, cpus=cpus_beside(len(spins)))
        try:
            if not tracer.wait_attached(spins[0], "getppid"):
                return last
            lines = Lines(path)
            lines.wait(10 ** 9)
            tries = [trial(tracer, lines, spins, CPU_RATE, 0.5) for _ in range(4)]
            result = find_rate(tracer, lines, spins, seconds, int(last.rate / 2) if last and last.rate else 60_000)
            result.cpu_ns = min([t[2] for t in tries if t[0]], default=None)
        finally:
            tracer.stop()
    os.unlink(path)
    return result.better_of(last) if last else result


def show_printed(by_producers):
    print("## Printed events\n")
    print('`printf("%d %s\\n", pid, comm)` to a file in memory, ten for each call that is traced: events in a second without loss (found by doubling the rate until one is lost, '
          f"then by halving; three tries each; what comes late counts as lost, since a longer run would lose it; the better of two rounds), and CPU time of the tracer for an event, at {CPU_RATE:,} events in a second and at its own highest rate. A rate with "
          "a + is as fast as the producers went, and nothing was lost.\n")
    rows = []
    for producers, found in by_producers.items():
        for t, p in found.items():
            a = found.get("sonde")
            rows.append([f"{producers}", Setup.titles[t], f"{p.rate:,.0f}" + ("+" if p.is_all else ""), num(p.cpu_ns), num(p.cpu_top_ns),
                         "" if t == "sonde" or not a else f"{a.rate / p.rate:.1f} ×" if p.rate else "–",
                         "" if t == "sonde" or not a else ratio(a.cpu_ns, p.cpu_ns), "" if t == "sonde" or not a else ratio(a.cpu_top_ns, p.cpu_top_ns)])
    table(["producers", "", "events in a second", f"ns of CPU at {CPU_RATE:,}", "at the highest rate", "sonde's events ÷", "sonde's CPU ÷", "÷ at the highest rate"],
          rows)


# ---- maps ----

FILL = "t:syscalls:sys_enter_close /args->fd >= 2000000/ { @[args->fd] = args->fd ^ 0x5a5a5; } "
KINDS = [
    ("print, sorted by value", FILL),
    ("top 10", "config = { print_maps_on_exit = 0 } " + FILL + "END { print(@, 10); }"),
]
# 0.17 has no such setting: what is to be printed no more must go.
OLD_TOP = FILL + "END { print(@, 10); clear(@); }"


class Printout:
    seconds = mb = None
    is_whole = True


def print_map(tool, script, keys, spin, before_end=None):
    """Fills a map, and measures from the signal to the end. before_end(tracer) is called when it is full."""
    path = os.path.join(Setup.scratch, "map")
    result = Printout()
    with open(path, "wb") as out:
        tracer = Tracer(script_args(tool, script), out, MANY_KEYS_ENV)
        try:
            if not tracer.wait_attached(spin, "close"):
                return None
            spin.run("close", keys)
            if before_end:
                before_end(tracer)
        finally:
            result.seconds, result.mb = tracer.stop(60)
    with open(path, "rb") as f:
        lines = f.read().count(b"\n@[")
    result.is_whole = "END" in script or lines >= keys
    os.unlink(path)
    return result


def measure_maps():
    """[(what, {tool: Printout})]"""
    rows = []
    spin = Spin()
    keys = 100_000 if Setup.is_quick else 1_000_000
    for what, script in KINDS:
        costs = {}
        for i in range(1 if Setup.is_quick else 5):
            for tool in Setup.tools:
                # The peers take seconds each.
                if tool != "sonde" and i % 2:
                    continue
                say(f"map of {keys:,} keys, {what}: {tool}")
                p = print_map(tool, OLD_TOP if tool == "old" and "END" in script else script, keys, spin)
                if p and p.seconds and (tool not in costs or p.seconds < costs[tool].seconds):
                    costs[tool] = p
        rows.append((f"{keys:,} keys: {what}", costs))
    spin.stop()
    return rows


def show_maps(rows):
    print("## Maps of many keys\n")
    print("From the signal to the end of the program, with detaching: seconds / MB of largest resident set. The best of five turns, of the peers' three.\n")
    tools = list(Setup.tools)

    def cell(p):
        return f"{p.seconds:.3f} / {num(p.mb)}" + ("" if p.is_whole else " (keys are missing)") if p else "–"

    table([""] + [Setup.titles[t] for t in tools] + [f"÷ {Setup.titles[t]}" for t in tools[1:]],
          [[what] + [cell(c.get(t)) for t in tools]
           + [f"{ratio(c['sonde'].seconds, c[t].seconds)} / {ratio(c['sonde'].mb, c[t].mb)}" if t in c else "–" for t in tools[1:]]
           for what, c in rows])
