"""What fusion did, on a terminal: `ridgepoint predict … --mode compiled --explain-fusion`."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from app.quantities import cut, data, seconds
from app.report.tables import numbers, table, words
from simulator.fusion.explain import Explanation, explain
from simulator.prediction import Prediction


def show(console: Console, p: Prediction, top: int) -> None:
    """Print the kinds of generated kernels, and what could not fuse."""
    found = explain(p)
    width = min(console.width, 120)
    console.print()
    console.print(_gain(p, found), width=width)
    kernels = table("generated kernels")
    kernels.add_column("ops", min_width=16)
    numbers(kernels, "kernels", "launches removed", "bytes saved", "before", "after")
    for each in found.merged[:top]:
        kernels.add_row(
            cut(f"{each.kind}: {', '.join(each.ops)}", 48), f"{each.count:,}",
            f"{each.launches_removed:,.0f}", data(each.bytes_saved), seconds(each.before_s),
            seconds(each.after_s),
        )  # fmt: skip
    console.print(kernels, width=width)
    console.print()
    left = table("not fused")
    words(left, "op")
    numbers(left, "calls", "kernels", "time")
    left.add_column("why", min_width=24)  # may be broken
    for each in found.left[:top]:
        took = seconds(each.seconds)
        left.add_row(cut(each.op, 28), f"{each.count:,}", f"{each.launches:,}", took, each.reason)
    console.print(left, width=width)


def _gain(p: Prediction, found: Explanation) -> Text:
    before, after = found.eager, p
    times = before.period_s / after.period_s
    how = f"{times:.2f} times as fast" if times >= 1 else f"{1 / times:.2f} times as slow"
    return Text(
        f"Compiled, a step takes {seconds(after.period_s)} instead of {seconds(before.period_s)} "
        f"({how}): {before.kernel_count:,} kernels become {after.kernel_count:,}, and the GPU is "
        f"busy {seconds(after.gpu_busy_s)} instead of {seconds(before.gpu_busy_s)}.\n"
    )
