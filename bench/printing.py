"""What reaches the output: printed events, and maps of many keys."""

import os
import time

from common import MANY_KEYS_ENV, Mood, Samples, Setup, Spin, Tracer, cpus_beside, num, ratio, say, script_args, table

LINE = b" spin\n"
# Several from each call, so that it is not the call that limits the producer.
EACH = 10
SCRIPT = 't:syscalls:sys_enter_getppid /comm == "spin"/ { unroll(%d) { printf("%%d %%s\\n", pid, comm); } }' % EACH
CPU_RATE = 40_000  # events a second that every tool prints without loss


ROUNDS = 10
TRIAL_S = 0.3
LATE_S = 0.05     # what is written that long after the last call is late


class Lines:
    """Counts the lines that a growing file got."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.rest = b""

    def size(self):
        return os.fstat(self.file.fileno()).st_size

    def count(self):
        data = self.rest + self.file.read()
        self.rest = data[-len(LINE) + 1:] if not data.endswith(LINE) else b""
        return data.count(LINE)

    def wait(self, want):
        """Lines that came, when all are there or no more come."""
        got, quiet_since = 0, time.monotonic()
        while got < want and time.monotonic() - quiet_since < 0.15:
            n = self.count()
            got += n
            if n:
                quiet_since = time.monotonic()
            else:
                time.sleep(0.01)
        return got


class Trial:
    """Events at a rate, as many as the producers make in TRIAL_S. What is printed only after the last call had been kept by a large buffer, which would have
    overflown in a longer trial. The size of the file tells: counting its lines takes a while."""

    def __init__(self, tracer, lines, spins, mood, rate):
        calls = int(rate * TRIAL_S / len(spins) / EACH)
        cnt = calls * EACH * len(spins)
        cpu = tracer.cpu_ns()

        def make_calls():
            for s in spins:
                s.begin("getppid", calls, rate // len(spins) // EACH)
            return max([s.end() for s in spins]) * calls / cnt

        self.ns, self.mood = mood.during(make_calls, Mood.OFTEN_MS, tracer.cpus)  # from one event to the next; where the tracer reads
        time.sleep(LATE_S)
        size = lines.size()
        got = lines.wait(cnt)
        self.is_kept = got == cnt and lines.size() == size  # all was printed, and soon
        self.cpu_ns = (tracer.cpu_ns() - cpu) / max(got, 1)  # the tracer's for an event
        self.is_short_of_producers = 1e9 / self.ns < SHORT_OF * rate


SHORT_OF = 0.9  # producers that make less than that of the rate go as fast as they can


class Printed:
    """One tool's, from trials of all rounds. At a rate near the limit it is a matter of luck whether something is lost, over a quarter of the rate for Sonde
    and less for others: the rate at which every other trial loses is what all trials together tell best, and that is their middle. It follows the moods of the
    machine, though not at once; the CPU time that an event takes does so at once, and tells how far they matter to the tool, whose reader is what limits the rate."""

    STEPS = (1 / 2, 1 / 4, 1 / 8, 1 / 16)  # powers of two by which the rate changes; the last, 4 %, remains

    def __init__(self):
        self.at_cpu_rate = Samples()  # ns of the tracer for an event, at CPU_RATE
        self.times, self.cpu_times = Samples(), Samples()  # at the limit, in the trials of find_limit(): ns from one event to the next, of the tracer
        self.trials = self.kept = 0
        self.next_rate = None
        self.steps = list(self.STEPS)

    is_short_of_producers = False
    rate = property(lambda self: 1e9 / self.times.in_best_mood(self.cpu_times.slowed) if self.kept else 0.0)  # events a second, all producers together
    is_all = property(lambda self: self.is_short_of_producers and self.kept >= 0.9 * self.trials)
    cpu_ns = property(lambda self: self.at_cpu_rate.corrected if self.at_cpu_rate.all else None)
    cpu_top_ns = property(lambda self: self.cpu_times.in_best_mood(self.cpu_times.slowed) if self.kept else None)

    def measure_cpu(self, try_rate, cnt):
        for _ in range(cnt):
            t = try_rate(CPU_RATE)
            if t.is_kept:
                self.at_cpu_rate.add(t.cpu_ns, t.mood)

    def find_limit(self, try_rate, cnt):
        """cnt trials around the limit; the rate goes up when nothing was lost, and down when something was. So they stay where half of them lose, and
        follow the machine's moods. No single trial decides, however unlucky. try_rate(rate) makes a Trial."""
        if not self.next_rate:
            self.next_rate = first_limit(try_rate)
        for _ in range(cnt):
            t = try_rate(self.next_rate)
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
            if step == self.STEPS[-1]:
                self.trials += 1
                self.kept += t.is_kept
                self.times.add(t.ns, t.mood)
                self.cpu_times.add(t.cpu_ns, t.mood)
            self.is_short_of_producers = t.is_kept and t.is_short_of_producers
            if not t.is_kept:
                self.next_rate = int(self.next_rate / 2 ** step)
            elif not t.is_short_of_producers:
                self.next_rate = int(self.next_rate * 2 ** step)


def first_limit(try_rate):
    """The first rate, of doubled ones, at which three trials lost something, or that the producers do not reach."""
    rate = 60_000
    while True:
        for _ in range(3):
            t = try_rate(rate)
            if t.is_kept:
                break
        if not t.is_kept or t.is_short_of_producers:
            return rate
        rate *= 2


def measure_printed(producers):
    """{how many producers: {tool: Printed}}; all take turns, in several rounds."""
    found = {n: {} for n in producers}
    mood = Mood()
    for i in range(1 if Setup.is_quick else ROUNDS):
        for n in producers:
            for tool in Setup.tools:
                # The old one is so slow that more producers tell nothing new, and what limits it is them, not the reader.
                if tool == "old" and (n > 1 or i % 3):
                    continue
                say(f"printed events, {n} producer{'s'[:n > 1]}: {tool}")
                measure_turn(script_args(tool, SCRIPT), n, found[n].setdefault(tool, Printed()), mood)
    mood.stop()
    return {n: {tool: p for tool, p in tools.items() if p.trials} for n, tools in found.items()}


def measure_turn(cmd, producers, printed, mood):
    """One tracer's."""
    path = os.path.join(Setup.scratch, "printed")
    spins = [Spin(i) for i in range(producers)]
    with open(path, "wb") as out:
        tracer = Tracer(cmd, out, cpus=cpus_beside(producers))
        try:
            if tracer.wait_attached(spins[0], "getppid"):
                lines = Lines(path)
                lines.wait(10 ** 9)

                def try_rate(rate):
                    return Trial(tracer, lines, spins, mood, rate)

                printed.measure_cpu(try_rate, 4)
                printed.find_limit(try_rate, 10)
        finally:
            tracer.stop()
            for s in spins:
                s.stop()
    os.unlink(path)


def show_printed(by_producers):
    print("## Printed events\n")
    print('`printf("%d %s\\n", pid, comm)` to a file in memory, ten for each call that is traced: events in a second without loss, and CPU time of the tracer for an event, '
          f"at {CPU_RATE:,} events in a second and at its own highest rate. The tools take turns in {ROUNDS} rounds of trials of {TRIAL_S} s. After one that lost nothing the rate is 4 % higher, "
          f"after one with a loss it is lower; what is written {LATE_S * 1000:.0f} ms after the last call counts as lost, since a longer run would lose it. The middle of these trials "
          "is shown, of which every other one loses something, as it would be on a core of one's own: how much a slow machine slows a tool is what its CPU time for an event tells, over all the trials. A rate with a + is as fast as the producers went, and nine of ten trials or more lost nothing.\n")
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
MAP_TURNS = 6
KINDS = [
    ("print, sorted by value", FILL),
    ("top 10", "config = { print_maps_on_exit = 0 } " + FILL + "END { print(@, 10); }"),
]
# 0.17 has no such setting: what is to be printed no more must go.
OLD_TOP = FILL + "END { print(@, 10); clear(@); }"


class Printout:
    seconds = mb = mood = None
    is_whole = True


class Printouts:
    """Of several turns."""

    def __init__(self):
        self.times, self.sizes = Samples(), []
        self.is_whole = True

    def add(self, p):
        self.times.add(p.seconds, p.mood)
        self.sizes.append(p.mb)
        self.is_whole = self.is_whole and p.is_whole

    seconds = property(lambda self: self.times.corrected)
    mb = property(lambda self: min(self.sizes))


def print_map(tool, script, keys, spin, mood, before_end=None):
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
            (result.seconds, result.mb), result.mood = mood.during(lambda: tracer.stop(60), Mood.OFTEN_MS)
    with open(path, "rb") as f:
        lines = f.read().count(b"\n@[")
    result.is_whole = "END" in script or lines >= keys
    os.unlink(path)
    return result


def measure_maps():
    """[(what, {tool: Printouts})]"""
    spin, mood = Spin(), Mood()
    keys = 100_000 if Setup.is_quick else 1_000_000
    turns = {what: {} for what, _ in KINDS}
    for _ in range(1 if Setup.is_quick else MAP_TURNS):
        for what, script in KINDS:
            for tool in Setup.tools:
                say(f"map of {keys:,} keys, {what}: {tool}")
                # The peers take seconds each.
                for _ in range(2 if tool == "sonde" else 1):
                    p = print_map(tool, OLD_TOP if tool == "old" and "END" in script else script, keys, spin, mood)
                    if p and p.seconds:
                        turns[what].setdefault(tool, Printouts()).add(p)
    spin.stop()
    mood.stop()
    return [(f"{keys:,} keys: {what}", found) for what, found in turns.items()]


def show_maps(rows):
    print("## Maps of many keys\n")
    print("From the signal to the end of the program, with detaching: seconds / MB of largest resident set. "
          f"{MAP_TURNS} turns, in each of which Sonde runs twice.\n")
    tools = list(Setup.tools)

    def cell(p):
        return f"{p.seconds:.3f} / {num(p.mb)}" + ("" if p.is_whole else " (keys are missing)") if p else "–"

    table([""] + [Setup.titles[t] for t in tools] + [f"÷ {Setup.titles[t]}" for t in tools[1:]],
          [[what] + [cell(c.get(t)) for t in tools]
           + [f"{ratio(c['sonde'].seconds, c[t].seconds)} / {ratio(c['sonde'].mb, c[t].mb)}" if t in c else "–" for t in tools[1:]]
           for what, c in rows])
