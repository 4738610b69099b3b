"""The HTML page of a prediction, from a template."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from app import quantities as q
from app.answers.figures import (
    causes,
    idle_sentence,
    memory_parts,
    notes,
    provenance,
    title,
    totals,
    unmodelled,
    verdict,
)
from app.answers.groups import kernel_groups, module_groups
from app.answers.power import clocks, energy_sentence
from app.answers.subject import Subject
from app.charts.roofline.roofline import frame_of, roofline
from app.drawing import TABULATED, Drawing
from app.drawing.svg import element, properties, variable
from app.html import timeline
from app.report.exports import summary
from app.report.render import assumed
from app.scenes.launches import launch_groups
from app.scenes.roofline import roofline_scene
from app.theme import THEMES, Theme
from simulator.prediction import REGIMES, Prediction

_MOST_ROWS = 30
_WIDTH, _ROOFLINE_HEIGHT = 1080, 420


def as_html(p: Prediction, subject: Subject, command: str) -> str:
    """Render the report as one document; all names are escaped.

    `command` is the command line that repeats the prediction.
    """
    page = Environment(
        loader=PackageLoader("app.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page.filters |= {"seconds": q.seconds, "data": q.data, "percent": q.percent}
    return page.get_template("page.jinja").render(_contents(p, subject, command))


def _contents(p: Prediction, subject: Subject, command: str) -> dict[str, Any]:
    kernels, modules = kernel_groups(p), module_groups(p)
    drawings = {"roofline": _roofline(p)}
    drawn = [each for each in drawings.values() if each]
    capacity, used = p.gpu.memory_bytes, p.peak_memory_bytes + p.workspace_bytes
    return {
        "title": title(p, subject),
        "verdict": verdict(p, subject),
        "command": command,
        "p": p,
        "facts": _facts(p, subject),
        "regimes": REGIMES,
        "interval": _whisker(p),
        **{name: element(each, variable) if each else "" for name, each in drawings.items()},
        "timeline": timeline.drawing(p),
        "causes": [(name, s) for name, s in causes(p) if s > 0],
        "kernels": kernels[:_MOST_ROWS],
        "more_kernels": len(kernels[_MOST_ROWS:]),
        "modules": [m for m in modules if m.share >= 0.005][:_MOST_ROWS],
        "memory": memory_parts(p),
        "used": used,
        "capacity": capacity,
        "missing": unmodelled(p),
        "assumed": assumed(p),
        "notes": notes(p),
        "provenance": provenance(p),
        "scenario": summary(p, subject)["scenario"],
        "themes": [(name, _tokens(theme, drawn)) for name, theme in THEMES.items()],
    }


def _roofline(p: Prediction) -> Drawing | None:
    """The roofline; None if no kernel has FLOPs."""
    groups = launch_groups(p)
    if not any(each.flops for each in groups):
        return None
    scene = roofline_scene(p, groups)
    return roofline(scene, frame_of(scene, _WIDTH, _ROOFLINE_HEIGHT), TABULATED)


def _facts(p: Prediction, subject: Subject) -> list[tuple[str, str, str]]:
    """Rows of (name, figure, line below)."""
    t = totals(p, subject)
    tokens = q.count_of(t.tokens_per_s, "tokens/s") if t.tokens_per_s else ""
    utilisation, of = (
        (q.percent(t.utilisation), f"of {q.scaled(t.peak_flops_per_s, 'FLOP/s')} in {t.engine}")
        if t.engine
        else ("none", "no matrix products")
    )
    return [
        ("one step alone", q.seconds(p.latency_s), f"host work {q.seconds(p.host_s)}"),
        ("throughput", q.count_of(t.samples_per_s, "samples/s"), tokens),
        ("FLOP utilisation", utilisation, of),
        ("GPU busy", q.seconds(p.gpu_busy_s), q.percent(t.busy_share) + " of the step"),
        ("GPU idle", idle_sentence(p).partition(":")[0], "a step"),
        ("kernels", f"{p.kernel_count:,}", f"from {len(p.trace.ops):,} ops"),
        *_power(p),
    ]


def _power(p: Prediction) -> list[tuple[str, str, str]]:
    power = p.power
    if power is None:
        return []
    said = "the limit" if power.limited else f"of {q.number(power.limit_w)} W"
    return [
        ("power", f"{q.number(power.watts)} W", f"{said}, at {clocks(power)}"),
        ("energy", q.joules(power.joules), energy_sentence(p).partition(" a step ")[2]),
    ]


def _whisker(p: Prediction) -> tuple[float, float, float]:
    """Low, point and high of the interval as shares of an axis from 0 to 1.15 × high."""
    low, high = p.interval_s
    most = high * 1.15 or 1.0
    return low / most, p.period_s / most, high / most


def _tokens(theme: Theme, drawings: list[Drawing]) -> dict[str, str]:
    """A theme's colours, and those of drawings, as custom properties."""
    plain = ("bg0", "bg1", "bg2", "bg3", "line", "line2", "grid", "ink", "ink2", "ink3", "danger")
    found = {name: str(getattr(theme, name)) for name in plain}
    for regime in REGIMES:
        colours = theme.regime(regime)
        found |= {regime: colours.fill, f"{regime}-ink": colours.ink}
    return found | properties(drawings, theme)
