# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of the samples, verdicts on the goals, and the page."""

import math
import re
import statistics

from common import Setup
from goals import GOALS, METRICS, PARTS

MET, UNCLEAR, MISSED = "met", "unclear", "**missed**"
HEAD = """# Benchmarks

This page compares Sonde with bpftrace, C written by hand, ply, perf, bpftool and pahole. `make bench` (as root, on an idle machine) measures and writes it.
[Speed](design/speed.md) explains the techniques behind the figures.

## How to read the figures

- The tools run in turn. One round runs each tool once, and each round gives one sample of each figure. The column *samples* gives their number.
- A command runs once before its first sample, so that its files are in the page cache.
- A figure is the median of its samples. Its spread, in brackets, is the lower and the upper quartile: half of the samples lie between them. No spread
  is shown where both quartiles round to the same number.
- A ratio (÷) is Sonde's sample divided by the other tool's sample of the same round.
- A goal is *met* when the whole spread meets it, *missed* when no part of the spread does, and *unclear* when the spread crosses it.
- Every sample counts. No figure is corrected, and no sample is left out.
- `–` means not measured. *failed* means that the tool reported an error or took too long.

## Machine
"""


def quartiles(samples):
    """(lower quartile, median, upper quartile)"""
    return statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3


def number(x):
    """Three significant digits; counts as they are."""
    return f"{x:,.0f}" if abs(x) >= 100 or x == int(x) else f"{x:.{2 - math.floor(math.log10(abs(x)))}f}"


def spread(samples):
    low, _, high = map(number, quartiles(samples))
    return f"{low}–{high}" if low != high else ""


def figure(samples, none="–"):
    return f"{number(statistics.median(samples))} ({spread(samples)})".removesuffix(" ()") if samples else none


def ratios(tools, metric, peer):
    """Sonde ÷ peer of each round; nothing where a difference of times is not positive."""
    pairs = list(zip(tools.get("sonde", {}).get(metric, []), tools.get(peer, {}).get(metric, [])))
    return [a / b for a, b in pairs] if all(a > 0 and b > 0 for a, b in pairs) else []


# ---- goals ----

def judge(goal, samples):
    if not samples:
        return MISSED if samples is None else UNCLEAR
    is_good = [value >= goal.limit if goal.is_least else value <= goal.limit for value in quartiles(samples)]
    return MET if all(is_good) else UNCLEAR if any(is_good) else MISSED


def judge_goal(goal, results):
    """The cells of a line of the table of goals; None when nothing of it was measured. A row where Sonde failed has None instead of samples."""
    rows = {}
    for title, tools in results.get(goal.part, {}).items():
        own = tools.get("sonde", {})
        is_measured = goal.metric in tools.get(goal.peer, {}) if goal.peer else goal.metric in own or not own
        if re.search(goal.rows, title) and is_measured:
            rows[title] = None if not own.get(goal.metric) else ratios(tools, goal.metric, goal.peer) if goal.peer else own[goal.metric]
    if not rows:
        return None
    title, unit = METRICS[goal.metric]
    name = f"{goal.what}: {title}" + (f" ÷ {Setup.titles[goal.peer]}" if goal.peer else "")
    if goal.is_mean:
        rows = {"": [statistics.geometric_mean(of_round) for of_round in zip(*rows.values())] if all(rows.values()) else []}
        name += ", geometric mean"
    worst = max(rows, key=lambda row: (not rows[row], statistics.median(rows[row] or [0]) * (-1 if goal.is_least else 1)))
    if len(rows) > 1:
        name += f", worst of {len(rows)}: {worst}"
    limit = f"{'≥' if goal.is_least else '≤'} {goal.limit:g} {'' if goal.peer else unit}".strip()
    samples = rows[worst] or []
    return [name, limit, number(statistics.median(samples)) if samples else "–", spread(samples) if samples else "–", len(samples),
            verdict({row: judge(goal, samples) for row, samples in rows.items()})]


def verdict(verdicts):
    """One for all rows, the worst first. The rows that do not meet the goal are named."""
    groups = {v: [row for row in verdicts if verdicts[row] == v] for v in (MISSED, UNCLEAR, MET)}
    named = [f"{v}: {', '.join(groups[v])}" for v in (MISSED, UNCLEAR) if groups[v]]
    return "; ".join(named + [f"{MET}: {len(groups[MET])} of {len(verdicts)}"]) if len(verdicts) > 1 else "".join(verdicts.values())


# ---- the page ----

def table(head, rows):
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *rows]) + "\n"


def metric_table(part, metric, results):
    """The figures, the ratios, and the number of samples of each row that has the metric."""
    rows = {title: tools for title, tools in results.items() if any(metric in found for found in tools.values())}
    tools = [tool for tool in part.tools if any(metric in row.get(tool, {}) for row in rows.values())]
    peers = [tool for tool in tools if tool != "sonde" and metric != "size"]
    return table([", ".join(filter(None, METRICS[metric]))] + [Setup.titles[t] for t in tools] + [f"÷ {Setup.titles[t]}" for t in peers] + ["samples"],
                 [[title] + [figure(row[t].get(metric), "failed") if t in row else "–" for t in tools] + [figure(ratios(row, metric, t)) for t in peers]
                  + [max(len(found.get(metric, [])) for found in row.values())] for title, row in rows.items()])


def page(results, machine):
    goals = filter(None, (judge_goal(goal, results) for goal in GOALS))
    lines = [HEAD, *(f"- {line}" for line in machine), "\n## Goals\n", table(["measurement", "goal", "measured", "spread", "samples", "verdict"], goals)]
    for letter, part in PARTS.items():
        if letter in results:
            lines += [f"## {part.title}", part.text + "\n" * bool(part.text)]
            lines += [metric_table(part, metric, results[letter]) for metric in part.metrics]
    return "\n".join(lines)
