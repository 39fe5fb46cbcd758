"""How the cost grows with the work: one curve each, as a table and as a picture."""

import math
import os
import subprocess

from common import CPUS, Mood, Samples, Setup, Spin, Tracer, compare, num, program_stats, say, script_args, table
from events import EventCost, measure_one
from printing import FILL, Printouts, print_map
from scripts import long_script, many_probes

# A power of the work up to this counts as linear: the figures vary.
LINEAR = 1.1


def command_curve(commands):
    """[(n, ms of wall time)] of n -> argv; None when it fails, which run_once() tells. The points take turns, so that no mood of the machine bends the curve."""
    costs = compare([{"sonde": cmd} for cmd in commands.values()], 1 if Setup.is_quick else 5, cpus=CPUS[-1:])
    return [(n, c["sonde"].wall if c else None) for n, c in zip(commands, costs)]


def check_curve(name, script, sizes):
    """The time to compile script(n)."""
    commands = {}
    for n in sizes:
        path = os.path.join(Setup.scratch, f"{name}{n}.bt")
        with open(path, "w") as f:
            f.write(script(n))
        commands[n] = [Setup.sonde, "--check", path]
    return command_curve(commands)


def curve_lines():
    return check_curve("lines", long_script, (125, 250, 500, 1000, 2000, 4000, 8000))


def curve_scripts_probes():
    return check_curve("probes", many_probes, (62, 125, 250, 500, 1000, 2000))


def make_functions(cnt):
    """A program with that many functions, f00000 and up, none of which runs."""
    path = os.path.join(Setup.scratch, "functions")
    with open(path + ".c", "w") as f:
        f.writelines(f"int f{i:05}(int a) {{ return a + {i}; }}\n" for i in range(cnt))
        f.write("int main(void) { return 0; }\n")
    subprocess.run([os.environ.get("CC", "cc"), "-O0", "-o", path, path + ".c"], check=True)
    return path


FUNCTIONS = 10_000
# Functions 1, 10, 100 …, by a pattern of their names.
PATTERNS = [(1, "f00000"), (10, "f0000*"), (100, "f000*"), (1000, "f00*"), (10_000, "f0*")]


def curve_sites():
    path = make_functions(FUNCTIONS)
    return command_curve({n: script_args("sonde", f"uprobe:{path}:{pattern} {{ @[probe] = count(); }} BEGIN {{ exit(); }}") for n, pattern in PATTERNS})


def curve_keys():
    spin, mood = Spin(), Mood()
    sizes = [n for n in (1000, 10_000, 100_000, 1_000_000) if not Setup.is_quick or n <= 100_000]
    printouts = {n: Printouts() for n in sizes}
    for _ in range(2 if Setup.is_quick else 5):
        for n in sizes:
            printouts[n].add(print_map("sonde", FILL, n, spin, mood))
    spin.stop()
    mood.stop()
    return [(n, p.seconds * 1e3) for n, p in printouts.items()]


def curve_strings():
    spin, mood = Spin(), Mood()
    costs = {n: EventCost(is_printed=True) for n in (16, 64, 256, 1024, 3072)}
    for _ in range(1 if Setup.is_quick else 4):
        for n, cost in costs.items():
            script = f't:syscalls:sys_enter_swapoff {{ printf("%s\\n", str(args.specialfile, {n})); }}'
            measure_one(lambda cpus, script=script: Tracer(script_args("sonde", script), cpus=cpus), f"swapoff:{n}", cost, spin, mood)
    spin.stop()
    mood.stop()
    return [(n, cost.ns) for n, cost in costs.items()]


def count_at_once(tracer, spins, calls=30_000):
    """Nanoseconds of the programs for a call, while all of these make calls."""
    before = tracer.programs()
    for s in spins:
        s.begin("getppid", calls)
    for s in spins:
        s.end()
    after = tracer.programs()
    return sum(after[i]["run_time_ns"] - before[i]["run_time_ns"] for i in after) / (calls * len(spins))


def curve_cpus():
    """Nanoseconds of an event while this many CPUs count at once."""
    most = min(os.cpu_count(), 8)
    spins, mood = [Spin(i) for i in range(most)], Mood()
    tracer = Tracer(script_args("sonde", "t:syscalls:sys_enter_getppid { @ = count(); }"))
    found = {n: Samples() for n in range(1, most + 1)}
    try:
        if tracer.wait_attached(spins[0], "getppid"):
            with program_stats():
                for _ in range(40):
                    for n, ns in found.items():
                        ns.add(*mood.during(lambda n=n: count_at_once(tracer, spins[:n])))
    finally:
        tracer.stop()
        for s in spins:
            s.stop()
        mood.stop()
    return [(n, ns.calm if ns.all else None) for n, ns in found.items()]


CURVES = [
    ("lines of a script", "ms to compile", curve_lines),
    ("probes of a script", "ms to compile", curve_scripts_probes),
    ("functions of a uprobe", "ms to attach and detach", curve_sites),
    ("keys of a map", "ms to print", curve_keys),
    ("characters of str()", "ns an event", curve_strings),
    ("CPUs that count at once", "ns an event", curve_cpus),
]


def measure_growth():
    """[(work, unit, [(x, y)])]"""
    found = []
    for work, unit, fn in CURVES:
        say("growth: " + work)
        found.append((work, unit, [(x, y) for x, y in fn() if y]))
    return found


def slope(points):
    """The power of the work that the cost grows with, over the upper half of the curve; there what is fixed counts least."""
    upper = points[len(points) // 2 - (len(points) % 2 == 0):] if len(points) > 2 else points
    (x0, y0), (x1, y1) = upper[0], upper[-1]
    return math.log(y1 / y0) / math.log(x1 / x0) if x1 > x0 and y0 > 0 and y1 > 0 else 0.0


def show_growth(curves, picture):
    print("## Growth\n")
    print("What a multiple of the work costs; the points of a curve took turns. The power is that of the upper half of the curve: 1 is linear, less is better than linear.\n")
    print(f"![curves]({os.path.basename(picture)})\n")
    table(["work", "", "", "power"],
          [[work, unit, ", ".join(f"{x:,}: {num(y)}" for x, y in points), f"{slope(points):.2f}"] for work, unit, points in curves])
    with open(picture, "w") as f:
        f.write(draw(curves))


def draw(curves):
    """Small log-log plots side by side, each with a dashed line of slope 1 through its last point: what is above it grows slower."""
    w, h, left, top, cols = 300, 220, 46, 34, 3
    rows = (len(curves) + cols - 1) // cols
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{cols * w}" height="{rows * h}" font-family="sans-serif" font-size="11">',
           f'<rect width="{cols * w}" height="{rows * h}" fill="white"/>']
    for i, (work, unit, points) in enumerate(curves):
        ox, oy = i % cols * w + left, i // cols * h + top
        pw, ph = w - left - 20, h - top - 40
        xs, ys = [math.log10(x) for x, _ in points], [math.log10(y) for _, y in points]
        x0, x1 = min(xs), max(max(xs), min(xs) + 0.1)
        y0, y1 = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)

        def at(x, y, ox=ox, oy=oy, x0=x0, x1=x1, y0=y0, y1=y1, pw=pw, ph=ph):
            return f"{ox + (x - x0) / (x1 - x0) * pw:.1f},{oy + ph - (y - y0) / (y1 - y0) * ph:.1f}"

        out.append(f'<text x="{ox}" y="{oy - 12}" font-weight="bold">{work}: {unit}</text>')
        out.append(f'<rect x="{ox}" y="{oy}" width="{pw}" height="{ph}" fill="none" stroke="#999"/>')
        for e in range(y0, y1 + 1):
            px, py = at(x0, e).split(",")
            out.append(f'<text x="{float(px) - 4:.1f}" y="{float(py) + 4:.1f}" text-anchor="end">{10 ** e:g}</text>')
        for x, _ in (points[0], points[-1]):
            px = at(math.log10(x), y0).split(",")[0]
            out.append(f'<text x="{px}" y="{oy + ph + 14}" text-anchor="middle">{x:,}</text>')
        # Cut where it leaves the frame.
        start = max(x0, xs[-1] - (ys[-1] - y0))
        out.append(f'<polyline points="{at(start, ys[-1] - (xs[-1] - start))} {at(xs[-1], ys[-1])}" fill="none" stroke="#999" stroke-dasharray="4 3"/>')
        out.append('<polyline points="' + " ".join(at(x, y) for x, y in zip(xs, ys)) + '" fill="none" stroke="#06c" stroke-width="2"/>')
        out += [f'<circle cx="{at(x, y).split(",")[0]}" cy="{at(x, y).split(",")[1]}" r="3" fill="#06c"/>' for x, y in zip(xs, ys)]
    out.append("</svg>\n")
    return "\n".join(out)


# ---- compile time, beside bpftrace ----

PEER_ROUNDS = 10
LIMIT_S = 30


def measure_compile():
    """[(what, {tool: Cost})]"""
    say("compiling")
    rows = {}
    for what, text in (("a script of 2,000 lines", long_script(2000)), ("500 probes", many_probes(500))):
        path = os.path.join(Setup.scratch, f"compile{len(rows)}.bt")
        with open(path, "w") as f:
            f.write(text)
        rows[what] = {"sonde": [Setup.sonde, "--check", path]}
        if "new" in Setup.tools:
            rows[what]["new"] = (Setup.tools["new"] + ["--mode", "codegen", path], PEER_ROUNDS)
        if "old" in Setup.tools:
            rows[what]["old"] = (Setup.tools["old"] + ["--emit-elf", os.path.join(Setup.scratch, "compile.o"), path], PEER_ROUNDS)
    return list(zip(rows, compare(rows.values(), 2 * PEER_ROUNDS, limit=10 if Setup.is_quick else LIMIT_S, cpus=CPUS[-1:])))
