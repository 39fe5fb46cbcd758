# SPDX-License-Identifier: GPL-2.0-only
"""The picture of the curves."""

import math

W, H, PW, PH = 300, 220, 234, 146  # a plot, and its frame


def draw(curves):
    """Log-log plots, title -> [(x, y)]. The dashed line has slope 1: a curve that is flatter grows more slowly than the work."""
    plots = [f'<g transform="translate({i % 2 * W + 46} {i // 2 * H + 34})">\n{plot(title, points)}\n</g>\n' for i, (title, points) in enumerate(curves.items())]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * W}" height="{(len(plots) + 1) // 2 * H}" font-family="sans-serif" font-size="11">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{"".join(plots)}</svg>\n')


def plot(title, points):
    logs = [(math.log10(x), math.log10(y)) for x, y in points]
    (left, _), (right, last) = logs[0], logs[-1]
    low = math.floor(min(y for _, y in logs))
    high = max(math.ceil(max(y for _, y in logs)), low + 1)

    def at(x, y):
        return (x - left) / (right - left) * PW, PH - (y - low) / (high - low) * PH

    def line(places, style):
        return f'<polyline points="{" ".join("%.1f,%.1f" % at(x, y) for x, y in places)}" fill="none" {style}/>'

    def text(x, y, words, style='text-anchor="end"'):
        return f'<text x="{x}" y="{y:.1f}" {style}>{words}</text>'

    start = max(left, right - (last - low))  # where the dashed line enters the frame
    marks = [text(-4, at(left, e)[1] + 4, f"{10 ** e:,g}") for e in range(low, high + 1)]
    return "\n".join([text(0, -12, title, 'font-weight="bold"'), f'<rect width="{PW}" height="{PH}" fill="none" stroke="#999"/>', *marks,
                      text(0, PH + 14, f"{points[0][0]:,}", ""), text(PW, PH + 14, f"{points[-1][0]:,}"),
                      line([(start, last - (right - start)), (right, last)], 'stroke="#999" stroke-dasharray="4 3"'),
                      line(logs, 'stroke="#06c" stroke-width="2"')])
