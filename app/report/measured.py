"""A measured step compared with its prediction, as a table and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.answers.groups import shape_of
from app.quantities import change, cut, number, percent, seconds
from simulator.measured.overlay import Overlay, Pair
from simulator.prediction import Regime

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class MeasuredGroup:
    """Calls of one op on one shape, with predicted and measured time."""

    op: str
    shape: str
    count: int
    predicted_s: float
    measured_s: float
    regime: Regime
    ops: frozenset[int]


def groups(laid: Overlay) -> list[MeasuredGroup]:
    """Group the pairs by op and shape, the largest difference first."""
    p, c = laid.prediction, laid.prediction.columns
    first = dict(zip(reversed(c.op_of.tolist()), range(c.op_of.size - 1, -1, -1), strict=True))
    pairs: dict[tuple[str, str], list[Pair]] = {}
    for pair in laid.pairs:
        name = p.trace.ops[pair.op].name.removeprefix("aten.").removesuffix(".default")
        shape = shape_of(p, int(c.work_of[first[pair.op]]), pair.op)
        pairs.setdefault((name, shape), []).append(pair)
    rows = [
        MeasuredGroup(
            op,
            shape,
            len(each),
            sum(pair.predicted_s for pair in each),
            sum(pair.measured.seconds for pair in each),
            p.kernels[first[max(each, key=lambda pair: pair.predicted_s).op]].regime,
            frozenset(pair.op for pair in each),
        )
        for (op, shape), each in pairs.items()
    ]
    return sorted(rows, key=lambda g: -abs(g.predicted_s - g.measured_s))


def show(console: Console, laid: Overlay, top: int) -> None:
    """Print the comparison; needs at least 80 columns."""
    # the window needs the rows, but not rich
    from rich.text import Text

    from app.report.tables import numbers, table

    width = min(console.width, 120)
    console.print(Text(sentence(laid) + "\n"), width=width)
    shown = table("Predicted against measured, the largest differences first")
    shown.add_column("op", no_wrap=True, overflow="ellipsis")
    shown.add_column("shape", no_wrap=True)
    numbers(shown, "count", "predicted", "measured", "pred/meas")
    all_groups = groups(laid)
    for g in all_groups[:top]:
        shown.add_row(
            cut(g.op, 24),
            cut(g.shape, 18),
            f"{g.count:,}",
            seconds(g.predicted_s),
            seconds(g.measured_s),
            ratio(g.predicted_s, g.measured_s),
        )
    if rest := all_groups[top:]:
        predicted_s, measured_s = sum(g.predicted_s for g in rest), sum(g.measured_s for g in rest)
        shown.add_row(
            f"{len(rest)} more",
            "",
            f"{sum(g.count for g in rest):,}",
            seconds(predicted_s),
            seconds(measured_s),
            ratio(predicted_s, measured_s),
            style="dim",
        )
    console.print(shown, width=width)
    for line in unmatched(laid):
        console.print(Text(line, style="yellow"), width=width)


def sentence(laid: Overlay) -> str:
    """Sentences about the agreement of measurement and prediction."""
    p, step = laid.prediction, laid.step
    predicted_s, measured_s = p.gpu_busy_s, step.gpu_busy_s
    return (
        f"Measured: the GPU was busy {seconds(measured_s)} in {len(step.kernels):,} kernels; "
        f"predicted {seconds(predicted_s)} in {p.kernel_count:,} "
        f"({change(measured_s, predicted_s)}). "
        f"{percent(laid.matched_share)} of the measured time belongs to ops of the trace."
    )


def ratio(predicted: float, measured: float) -> str:
    """The ratio as text, such as "0.97"; empty if nothing was measured."""
    return number(predicted / measured) if measured else ""


def unmatched(laid: Overlay) -> list[str]:
    """Lines that name the ops or kernels in only one of measurement and prediction."""
    p = laid.prediction
    unmeasured = [p.trace.ops[op].name.removeprefix("aten.") for op in laid.only_predicted]
    unpredicted = [each.name for each in laid.only_measured]
    return [
        f"only {which}: "
        + ", ".join(f"{cut(name, 40)} ×{names.count(name)}" for name in dict.fromkeys(names))
        for which, names in (("predicted", unmeasured), ("measured", unpredicted))
        if names
    ]


def rows(laid: Overlay) -> list[dict[str, Any]]:
    """One row per op, for `--json`."""
    ops = laid.prediction.trace.ops
    return [
        {
            "op": pair.op,
            "name": ops[pair.op].name,
            "module": ops[pair.op].module,
            "predicted_s": pair.predicted_s,
            "measured_s": pair.measured.seconds,
            "measured_kernels": list(pair.measured.kernels),
        }
        for pair in laid.pairs
    ]
