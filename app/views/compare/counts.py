"""Counts of both sides; counts that do not depend on the machine come first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QRectF

from app.answers.figures import causes
from app.quantities import change, data, scaled, seconds
from app.report.comparisons.ratios import dram_bytes
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.canvas import Card
from app.widgets.paint import Paint
from app.widgets.titled import Listed
from simulator.prediction import Prediction

_FIGURE_PX, _CHANGE_PX, _NAME_PX = 84.0, 64.0, 96.0


@dataclass(frozen=True)
class Count:
    """A figure of both sides. `machine` marks figures that depend on the GPU or the host. `unit` is
    the unit of `before` and `after`: "s", "B", "FLOP" or "count"."""

    name: str
    before: float
    after: float
    value_text: Callable[[float], str]
    about: str
    machine: bool = False
    unit: str = "count"


def counts(a: Prediction, b: Prediction) -> list[Count]:
    """Return the counts of a step."""

    def both(figure: Callable[[Prediction], float]) -> tuple[float, float]:
        return float(figure(a)), float(figure(b))

    return [
        Count(
            "Ops", *both(lambda p: len(p.trace.ops)), _whole_number, "ATen calls, including views"
        ),
        Count("Kernels", *both(lambda p: p.kernel_count), _whole_number, "launches on the GPU"),
        Count(
            "Python calls", *both(_python), _whole_number, "functions called by the network's code"
        ),
        Count(
            "FLOPs",
            *both(lambda p: p.flops),
            lambda v: scaled(v, "FLOP"),
            "a multiply-add counts as two",
            unit="FLOP",
        ),
        Count("DRAM bytes", *both(dram_bytes), data, "read and written by the kernels", unit="B"),
        Count(
            "Memory",
            *both(lambda p: p.peak_memory_bytes + p.workspace_bytes),
            data,
            "peak, including the libraries' workspaces",
            unit="B",
        ),
        Count("Host work", *both(lambda p: p.host_s), seconds, "per step", True, "s"),
        Count("GPU busy", *both(lambda p: p.gpu_busy_s), seconds, "per step", True, "s"),
        Count(
            "GPU idle",
            *both(lambda p: sum(v for _, v in causes(p))),
            seconds,
            "per step, in a loop of steps",
            True,
            "s",
        ),
    ]


def _python(p: Prediction) -> int:
    return sum(op.python_calls for op in p.trace.ops) + p.trace.tail_python_calls


def _whole_number(value: float) -> str:
    return f"{value:,.0f}"


class Counts(Listed):
    """One row per count: bars of A above B, the figures, and the change."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Counts", "the first six do not depend on the machine", False)
        self.setMinimumSize(320, 130)
        self.letters = ("A", "B")

    def show_counts(self, shown: list[Count], letters: tuple[str, str]) -> None:
        """Draw counts of the sides with these letters."""
        self.items, self.letters, self.over = list(shown), letters, None
        self.update()

    def draw_row(self, paint: Paint, item: Count, box: QRectF) -> None:
        theme, y = self.theme, box.center().y()
        ink = theme.ink2 if item.machine else theme.ink
        paint.text(box.left(), y, item.name, ink, SUPPORT_PX, room=_NAME_PX - 8)
        left, right = box.left() + _NAME_PX, box.right() - 2 * _FIGURE_PX - _CHANGE_PX - 10
        most = max(item.before, item.after) or 1.0
        for value, colour, top in ((item.before, theme.a, y - 6), (item.after, theme.b, y + 1)):
            wide = (right - left) * value / most
            if wide > 0.4:
                paint.area(QRectF(left, top, wide, 5), colour, radius=2)
        at = box.right() - _CHANGE_PX
        for x, value, colour, weight in (
            (at - _FIGURE_PX, item.before, theme.ink2, 400),
            (at, item.after, theme.ink, 600),
        ):
            paint.text(x, y, item.value_text(value), colour, LABEL_PX, weight, 1.0)
        words = change(item.before, item.after)
        colour = (
            theme.ink3 if words == "0%" else (theme.b if item.after < item.before else theme.danger)
        )
        paint.text(box.right(), y, words, colour, LABEL_PX, 600, 1.0)

    def card(self) -> Card | None:
        item = self.over
        if item is None:
            return None
        rows = [
            (self.letters[0], item.value_text(item.before)),
            (self.letters[1], item.value_text(item.after)),
            ("Change", change(item.before, item.after)),
            ("Definition", item.about),
        ]
        return Card(
            item.name,
            tuple(rows),
            "depends on the machine" if item.machine else "independent of the machine",
        )
