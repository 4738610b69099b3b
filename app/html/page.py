"""The HTML page of a prediction, from a template."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from importlib.resources import files
from typing import Any

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
from app.answers.power import energy_sentence, limit_words
from app.answers.subject import Subject
from app.answers.sweeps.other_sizes import OtherSizes
from app.charts.registry import prediction_charts
from app.charts.timeline.timeline import sums_sentence
from app.drawing import TABULATED, Drawing
from app.drawing.svg import element, properties, variable
from app.html.templates import rendered
from app.report.exports import summary
from app.report.render import assumed
from app.scenes.timeline.lanes import lanes
from app.theme import THEMES, Theme
from simulator.prediction import REGIMES, Prediction

_MOST_ROWS = 30
_WIDTH = 1080  # the width of a picture in pixels


def as_html(p: Prediction, subject: Subject, command: str, others: OtherSizes | None = None) -> str:
    """Render the report as one document; all names are escaped.

    `command` is the command line that repeats the prediction. With `others`, sliders change batch
    and sequence; without it, the page has no script."""
    contents = verdict_contents(p, subject) | _contents(p, subject, command) | _sliders(others)
    return rendered("page.jinja", contents)


def verdict_contents(p: Prediction, subject: Subject) -> dict[str, Any]:
    """The values of the templates for the title, the verdict and the colours of both themes."""
    return {
        "title": title(p, subject),
        "verdict": verdict(p, subject),
        "p": p,
        "facts": _facts(p, subject),
        "regimes": REGIMES,
        "interval": _whisker(p),
        "used": p.peak_memory_bytes + p.workspace_bytes,
        "capacity": p.gpu.memory_bytes,
        "missing": unmodelled(p),
        "themes": [(name, colour_tokens(theme, [])) for name, theme in THEMES.items()],
    }


def _contents(p: Prediction, subject: Subject, command: str) -> dict[str, Any]:
    kernels, modules = kernel_groups(p), module_groups(p)
    pictures = [
        (chart, drawing)
        for chart in prediction_charts()
        if (drawing := chart.draw(p, _WIDTH, chart.height, TABULATED))
    ]
    return {
        "command": command,
        "pictures": [(chart, element(drawing, variable)) for chart, drawing in pictures],
        "captions": {"Timeline": _sums(p)},
        "causes": [(name, s) for name, s in causes(p) if s > 0],
        "kernels": kernels[:_MOST_ROWS],
        "more_kernels": len(kernels[_MOST_ROWS:]),
        "modules": [m for m in modules if m.share >= 0.005][:_MOST_ROWS],
        "memory": memory_parts(p),
        "assumed": assumed(p),
        "notes": notes(p),
        "provenance": provenance(p),
        "scenario": summary(p, subject)["scenario"],
        "themes": [
            (name, colour_tokens(theme, [d for _, d in pictures])) for name, theme in THEMES.items()
        ],
    }


def _sliders(others: OtherSizes | None) -> dict[str, Any]:
    """The figures of the sliders and the script that shows them. The page's content security policy
    allows only the script with this digest."""
    if others is None:
        return {"others": None}
    script = files("app.html").joinpath("sliders.js").read_text("utf-8")
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    shown = {"batches": others.batches, "seqs": others.seqs, "columns": others.columns}
    return {
        "others": others,
        "script": script,
        "script_digest": f"sha256-{digest}",
        # a name that contains </script> must not end the element
        "predictions": json.dumps(shown, separators=(",", ":")).replace("<", "\\u003c"),
    }


def _sums(p: Prediction) -> list[str]:
    """The activity of each lane of the timeline over the step, in words."""
    if not p.kernel_count:
        return []
    step = lanes(p)
    span, both = (0.0, step.span_s), (("Host", step.host), ("GPU", step.gpu))
    return [f"{name}: {sums_sentence(lane, span)}." for name, lane in both]


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
    return [
        ("power", f"{q.number(power.watts)} W", limit_words(power)),
        ("energy", q.joules(power.joules), energy_sentence(p).partition(" a step ")[2]),
    ]


def _whisker(p: Prediction) -> tuple[float, float, float]:
    """The low end, the point and the high end of the interval, as shares of an axis from 0 to 1.15
    × high."""
    low, high = p.interval_s
    most = high * 1.15 or 1.0
    return low / most, p.period_s / most, high / most


def colour_tokens(theme: Theme, drawings: list[Drawing]) -> dict[str, str]:
    """The colours of a theme and of drawings, as custom properties of a style sheet."""
    plain = ("bg0", "bg1", "bg2", "bg3", "line", "line2", "grid", "ink", "ink2", "ink3", "danger")
    colour_of = {name: str(getattr(theme, name)) for name in plain}
    for regime in REGIMES:
        colours = theme.regime(regime)
        colour_of |= {regime: colours.fill, f"{regime}-ink": colours.ink}
    return colour_of | properties(drawings, theme)
