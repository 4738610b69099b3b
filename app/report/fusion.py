"""The report of fusion on a terminal: `ridgepoint predict … --mode compiled --explain-fusion`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.quantities import cut, data, scaled, seconds
from app.report.tables import numbers, table, words
from app.scenes.launches import starred
from simulator.analysis.fusion_report import Explanation, Recomputed, explain
from simulator.prediction import Prediction

_WIDE = 110
"""The minimum width, in characters, of a terminal with room for the modules of a kernel."""

_NAMED = 6
"""The largest number of kinds of recomputed ops to name."""


def show(console: Console, p: Prediction, top: int) -> None:
    """Print the kinds of generated kernels, and the ops that did not fuse."""
    explanation = explain(p)
    width = min(console.width, 120)
    console.print()
    console.print(_gain(p, explanation), width=width)
    console.print(_generated(explanation, top, width >= _WIDE), width=width)
    if code := _code(p.trace.code, explanation, top):
        console.print(code, width=width)
    if explanation.recomputed:
        console.print()
        console.print(_recomputed(explanation.recomputed), width=width)
    if explanation.unfused:
        console.print()
        console.print(_unfused(explanation, top), width=width)


def _generated(explanation: Explanation, top: int, wide: bool) -> Table:
    shown = table("generated kernels")
    words(shown, *("ops", "in")[: 2 if wide else 1])
    numbers(shown, "kernels", "launches removed", "bytes saved", "before", "after")
    for each in explanation.merged[:top]:
        place = (_place(each.modules),) if wide else ()
        shown.add_row(
            cut(f"{each.kind}: {', '.join(each.ops)}", 40 if wide else 20),
            *place,
            f"{each.count:,}",
            _count(each.launches_removed),
            data(each.bytes_saved),
            seconds(each.before_s),
            seconds(each.after_s),
        )
    if rest := explanation.merged[top:]:
        sums = (
            sum(getattr(each, name) for each in rest)
            for name in ("launches_removed", "bytes_saved", "before_s", "after_s")
        )
        launches, saved, before_s, after_s = sums
        blank = ("",) if wide else ()
        shown.add_row(
            f"{len(rest)} more",
            *blank,
            f"{sum(each.count for each in rest):,}",
            _count(launches),
            data(saved),
            seconds(before_s),
            seconds(after_s),
            style="dim",
        )
    return shown


def _code(code: Mapping[str, str], explanation: Explanation, top: int) -> Text | None:
    """The source line at which the code of the listed kernels' modules begins; None if unknown."""
    lines: dict[str, str] = {}
    for each in explanation.merged[:top]:
        path = each.modules[0] if each.modules else ""
        while path and path not in code:
            path = path.rpartition(".")[0]
        if path in code:
            lines.setdefault(code[path], starred(path) or "the network")
    listed = "; ".join(f"{name} at {line}" for line, name in lines.items())
    return Text(f"Their code: {listed}.", style="dim") if listed else None


def _unfused(explanation: Explanation, top: int) -> Table:
    shown = table("not fused")
    words(shown, "op")
    numbers(shown, "calls", "kernels", "time")
    shown.add_column("why", min_width=24)  # cells may wrap
    for each in explanation.unfused[:top]:
        took = seconds(each.seconds)
        shown.add_row(cut(each.op, 28), f"{each.count:,}", f"{each.launches:,}", took, each.reason)
    if rest := explanation.unfused[top:]:
        shown.add_row(
            f"{len(rest)} more",
            f"{sum(each.count for each in rest):,}",
            f"{sum(each.launches for each in rest):,}",
            seconds(sum(each.seconds for each in rest)),
            "",
            style="dim",
        )
    return shown


def _place(modules: tuple[str, ...]) -> str:
    """The modules in which kernels begin: the first path, with stars in place of indices, and the
    number of further paths.
    """
    paths = list(dict.fromkeys(map(starred, modules)))
    more = f" +{len(paths) - 1}" if len(paths) > 1 else ""
    return f"{cut(paths[0] or '(the network)', 20 - len(more))}{more}"


def _count(value: float) -> str:
    """A whole number; never "−0"."""
    return f"{round(value):,}".replace("-", "−")


def _instead(recomputed: Recomputed) -> str:
    if data(recomputed.bytes) == data(recomputed.eager_bytes):
        return f"{data(recomputed.bytes)}, as in eager mode"
    return f"{data(recomputed.bytes)} instead of {data(recomputed.eager_bytes)}"


def _recomputed(recomputed: Recomputed) -> Text:
    listed = ", ".join(f"{number:,} {name}" for name, number in recomputed.ops[:_NAMED])
    more = sum(number for _, number in recomputed.ops[_NAMED:])
    listed += f" and {more:,} more" if more else ""
    return Text(
        f"Recomputed in the backward pass: {listed} ({scaled(recomputed.flops, 'FLOP')}). "
        f"Saved for it: {_instead(recomputed)}."
    )


def _gain(p: Prediction, explanation: Explanation) -> Text:
    before, after = explanation.eager, p
    times = before.period_s / after.period_s
    speed = f"{times:.2f} times as fast" if times >= 1 else f"{1 / times:.2f} times as slow"
    return Text(
        f"Compiled, a step takes {seconds(after.period_s)} instead of {seconds(before.period_s)} "
        f"({speed}): {before.kernel_count:,} kernels become {after.kernel_count:,}, and the GPU is "
        f"busy {seconds(after.gpu_busy_s)} instead of {seconds(before.gpu_busy_s)}.\n"
    )
