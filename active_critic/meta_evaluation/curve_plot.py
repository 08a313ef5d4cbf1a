"""A learning curve as a picture: self-contained SVG, drawn by hand so that it needs no plotting package."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log2

from active_critic.meta_evaluation.learning_curve import Curve

WIDTH, HEIGHT = 720, 440
"""Of the picture, in pixels."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 24, 72, 64
_OURS, _FLOOR, _ZERO = "#1f5fa8", "#a65300", "#5f5f5f"

_Dot = tuple[float, float]


def curve_svg(found: Curve) -> str:
    """The mean of the three coefficients over the number of labels, as an SVG document.

    Error bars are the intervals of the points. Labels are on a logarithmic axis; the surface floor and zero-shot are
    drawn where the curve has them. Points without a coefficient are left out.
    """
    figures = [value for point in found.points for value in (point.mean.value, *(point.mean.interval or ()))]
    figures += [point.floor.agreement.mean for point in found.points if point.floor]
    zero = found.zero_shot.mean.value if found.zero_shot else None
    heights: list[float] = [value for value in [*figures, zero] if value is not None] or [0.0, 1.0]
    step = 0.1 if max(heights) - min(heights) > 0.3 else 0.05
    low: int = floor(min(heights) / step)
    high: int = max(ceil(max(heights) / step), low + 1)
    sizes = [point.labels for point in found.points]
    first = log2(sizes[0])
    span = log2(sizes[-1]) - first

    def across(labels: int) -> float:
        inside = WIDTH - _LEFT - _RIGHT - 40
        return _LEFT + 20 + (inside * (log2(labels) - first) / span if span else inside / 2)

    def up(value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (value / step - low) / (high - low)

    ours = [(across(point.labels), up(point.mean.value)) for point in found.points if point.mean.value is not None]
    floors = [(point.labels, point.floor.agreement.mean) for point in found.points if point.floor]
    surface = [(across(labels), up(value)) for labels, value in floors if value is not None]
    drawn = [_text(_LEFT, 26, f"{found.evaluator}: agreement with people by number of labels", size=16, weight="bold")]
    for tick in range(low, high + 1):
        y = up(tick * step)
        drawn += [
            _line([(_LEFT, y), (WIDTH - _RIGHT, y)], "#dddddd"),
            _text(_LEFT - 8, y + 4, f"{tick * step:.2f}", "end"),
        ]
    for size in sizes:
        x = across(size)
        drawn.append(_line([(x, HEIGHT - _BOTTOM), (x, HEIGHT - _BOTTOM + 5)], "#333333"))
        drawn.append(_text(x, HEIGHT - _BOTTOM + 20, str(size), "middle"))
    drawn.append(_line([(_LEFT, HEIGHT - _BOTTOM), (WIDTH - _RIGHT, HEIGHT - _BOTTOM)], "#333333"))
    drawn.append(_text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 20, "labels fitted on", "middle"))
    middle = (HEIGHT + _TOP - _BOTTOM) / 2
    drawn.append(_text(18, middle, "mean of Pearson, Spearman, Kendall", "middle", turn=f"rotate(-90 18 {middle:g})"))
    legend = [(found.evaluator, _OURS, "")]
    if surface:
        legend.append(("surface floor", _FLOOR, "6 4"))
        drawn.append(_line(surface, _FLOOR, width=2, dash="6 4"))
    if zero is not None:
        legend.append(("zero-shot", _ZERO, "2 4"))
        drawn.append(_line([(_LEFT, up(zero)), (WIDTH - _RIGHT, up(zero))], _ZERO, width=2, dash="2 4"))
    for point in found.points:
        if point.mean.value is not None and point.mean.interval is not None:
            x, (bottom, top) = across(point.labels), point.mean.interval
            drawn.append(_line([(x, up(bottom)), (x, up(top))], _OURS))
            drawn += [_line([(x - 4, up(end)), (x + 4, up(end))], _OURS) for end in (bottom, top)]
    drawn.append(_line(ours, _OURS, width=2))
    drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_OURS}"/>' for x, y in ours]
    start = float(_LEFT)
    for name, colour, dash in legend:
        drawn += [_line([(start, 48), (start + 28, 48)], colour, width=2, dash=dash), _text(start + 34, 52, name)]
        start += 64 + 7 * len(name)
    said = _safe(" ".join(found.words))
    body = "\n".join(part for part in drawn if part)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'role="img" font-family="sans-serif">\n'
        f"<title>Learning curve of {_safe(found.evaluator)}</title>\n<desc>{said}</desc>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def _safe(text: str) -> str:
    """Text that XML can hold."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _text(
    x: float, y: float, said: str, anchor: str = "start", *, size: int = 12, weight: str = "normal", turn: str = ""
) -> str:
    turned = f' transform="{turn}"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"{turned}>'
        f"{_safe(said)}</text>"
    )


def _line(dots: Sequence[_Dot], colour: str, *, width: int = 1, dash: str = "") -> str:
    if not dots:
        return ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'
