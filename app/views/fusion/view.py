"""Fusion by hand: a layer's ops as blocks, to be joined into kernels and pulled apart again."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.answers.side import Question, Side
from app.formulas.changes import moved_bytes
from app.formulas.formula import Formula
from app.quantities import change, data, seconds
from app.scenes.fusion import Scene, parts, scene
from app.theme import Theme
from app.views.fusion.canvas import FusionCanvas
from app.views.lessons.pieces import Rule
from app.widgets.strip import Strip
from app.widgets.view import View
from simulator.analysis.block_diagram import Joining, Set, Trial
from simulator.prediction import Prediction
from simulator.scenario.registry import apply

_PANEL_PX = 292
_HOW = (
    "Choose ops that should be one kernel: click them, or drag one onto another. Arrows and Space "
    "do the same; Enter joins, Delete pulls apart, Esc lets go."
)


class FusionView(View):
    """One layer at a time. What is joined is asked of the simulator, and so is what it saves."""

    title = "Fusion"
    workspace = "Fusion"
    waits = True

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.joining: Joining | None = None
        self.trial: Trial | None = None
        self._parts: dict[str, list[int]] = {}
        self.strip = Strip(theme)
        self.part = self.strip.choice("Part of the network", [], lambda _: self._show_part())
        self.strip.label("ribbons go through DRAM, their width is bytes; dotted stays on chip")
        self.strip.stretch()
        self.canvas = FusionCanvas(theme)
        self.canvas.chose.connect(lambda _: self._chose())
        self.canvas.joined.connect(self.join)
        self.canvas.parted.connect(self.part_again)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setAccessibleName("Ops as blocks, scrolled")
        area.setWidget(self.canvas)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.strip)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(area, 1)
        self.rule = Rule(theme, upright=True)
        row.addWidget(self.rule)
        row.addWidget(self._panel())
        column.addLayout(row, 1)
        self.setFocusProxy(self.canvas)
        self._say()

    def _panel(self) -> QWidget:
        panel = QWidget()
        panel.setFixedWidth(_PANEL_PX)
        column = QVBoxLayout(panel)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        self.head, self.figure, self.told = QLabel(), QLabel(), QLabel()
        self.head.setProperty("tone", "title")
        self.figure.setProperty("tone", "head")
        for label in (self.head, self.told):
            label.setWordWrap(True)
        self.everywhere = QCheckBox("in every layer alike")
        self.everywhere.setChecked(True)
        self.everywhere.toggled.connect(lambda _: self._chose())
        self.join_button, self.part_button = QPushButton("Join"), QPushButton("Pull apart")
        self.join_button.setProperty("look", "primary")
        self.join_button.clicked.connect(self.join)
        self.part_button.clicked.connect(lambda: self.part_again(self._joined()))
        for each in (self.everywhere, self.join_button, self.part_button):
            each.setAccessibleName(each.text())
        for widget in (
            self.head,
            self.figure,
            self.told,
            self.everywhere,
            self.join_button,
            self.part_button,
        ):
            column.addWidget(widget)
        column.addStretch(1)
        return panel

    # what the simulator says

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side, self.trial = sides[current], None
        self._say()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        asked, known = sides[current].scenario, self.joining
        chosen, everywhere = self.canvas.chosen, self.everywhere.isChecked()

        def work(cancelled: Any) -> tuple[Joining, Trial | None]:
            same = known is not None and known.scenario.key == asked.key
            joining = known if same and known is not None else Joining(asked)
            return joining, joining.tried(chosen, everywhere) if len(chosen) > 1 else None

        return work

    def answer(self, found: tuple[Joining, Trial | None]) -> None:
        joining, trial = found
        if joining is not self.joining:
            self.joining = joining
            self._parts = parts(joining)
            names, before = list(self._parts), self.part.currentText()
            start = before if before in names else _first(names)
            self.part.blockSignals(True)
            self.part.clear()
            self.part.addItems(names)
            self.part.setCurrentText(start)
            self.part.blockSignals(False)
            self._show_part()
        current = trial is not None and frozenset(trial.members) == self.canvas.chosen
        self.trial = trial if current else None
        self.canvas.refused = bool(self.trial and self.trial.refused)
        self.canvas.update()
        self._say()

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.strip.restyle(theme)
        self.canvas.restyle(theme)
        self.rule.theme = theme
        self.rule.update()

    def formula(self, at: QPoint) -> Formula | None:
        shown = self.canvas.scene
        if not shown.blocks:
            return None
        return moved_bytes(shown.name, shown.bytes, *_joined(shown))

    def subtitle(self) -> str:
        shown = self.canvas.scene
        if not shown.blocks:
            return ""
        saved = sum(each.launches_removed for each in shown.sets)
        return f"{shown.name}: {len(shown.blocks)} ops, {shown.launches - saved} kernels"

    def rows(self) -> list[list[str]]:
        shown = self.canvas.scene
        rows = [["Op", "Name", "Module", "Bytes", "Time", "Kernels", "Bound by", "Joined with"]]
        for op, block in shown.blocks.items():
            found = shown.set_of(op)
            others = [str(each) for each in found.members if each != op] if found else []
            rows.append(
                [
                    str(op),
                    block.name,
                    block.module,
                    data(block.bytes),
                    seconds(block.seconds),
                    str(block.launches),
                    block.regime,
                    " ".join(others),
                ]
            )
        return rows if shown.blocks else []

    # what the user does

    def join(self) -> None:
        """Ask for what was tried."""
        if self.side is not None and self.trial is not None and not self.trial.refused:
            wanted = apply(self.side.scenario, "fuse", dict(self.trial.arguments))
            self.canvas.choose(frozenset())
            self.asked.emit(wanted)

    def part_again(self, joined: Set | None) -> None:
        """Ask for a step in which these are apart."""
        if joined is not None and joined.choice is not None and self.joining is not None:
            self.canvas.choose(frozenset())
            self.asked.emit(self.joining.without(joined.choice))

    def _show_part(self) -> None:
        name = self.part.currentText()
        if self.joining is not None and name in self._parts:
            self.canvas.show_scene(scene(self.joining, name, self._parts[name]))
            self._chose()

    def _chose(self) -> None:
        self.trial = None
        self._say()
        self.question_changed.emit()

    def _joined(self) -> Set | None:
        """The set that all chosen blocks are part of."""
        found = [self.canvas.scene.set_of(op) for op in self.canvas.chosen]
        return found[0] if found and all(each is found[0] for each in found) else None

    def _say(self) -> None:
        """The words beside the blocks."""
        shown, trial, joined = self.canvas.scene, self.trial, self._joined()
        names = [shown.blocks[op].name for op in sorted(self.canvas.chosen) if op in shown.blocks]
        self.figure.setText("")
        if trial is not None and trial.refused:
            self.head.setText("Cannot be one kernel")
            self.told.setText(trial.refused[:1].upper() + trial.refused[1:])
        elif trial is not None and trial.after is not None and self.side is not None:
            self.head.setText(f"Joining {_listed(names)}")
            self.figure.setText(f"−{data(trial.bytes_saved)}" if trial.bytes_saved > 0 else "0 B")
            self.told.setText("\n".join(_gain(self.side.prediction, trial, trial.after)))
        elif joined is not None:
            self.head.setText(f"Joined: {_listed(names)}")
            by = "by the compiler: +fusion=none undoes it" if joined.choice is None else "by hand"
            self.told.setText(by)
        elif len(names) > 1:
            self.head.setText(f"Joining {_listed(names)} …")
            self.told.setText("")
        else:
            self.head.setText(
                f"{shown.name} moves" if shown.blocks else "What flows through memory"
            )
            lines = _summary(shown) if shown.blocks else []
            self.figure.setText(lines[0] if lines else "")
            self.told.setText("\n".join([*lines[1:], _HOW]))
        legal = trial is not None and not trial.refused
        self.figure.setVisible(bool(self.figure.text()))
        self.everywhere.setVisible(len(names) > 1 and joined is None)
        self.join_button.setVisible(legal)
        self.part_button.setVisible(joined is not None and joined.choice is not None)


def _first(names: list[str]) -> str:
    """The first layer of a list: what most networks repeat."""
    return next((name for name in names if name.split(",")[0][-1:].isdecimal()), names[0])


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _joined(shown: Scene) -> tuple[int, int]:
    """The bytes and the launches that what is joined saves."""
    saved = sum(each.bytes_saved for each in shown.sets)
    return max(0, saved), sum(each.launches_removed for each in shown.sets)


def _summary(shown: Scene) -> list[str]:
    """The bytes that a part moves as it is joined now; then how they come about."""
    saved, fewer = _joined(shown)
    apart = f"{data(shown.bytes)} with every op a kernel of its own"
    less = f", {data(saved)} less by what is joined" if saved > 0 else ""
    kernels = f"Kernels: {shown.launches:,}"
    if fewer:
        kernels += f" apart, {shown.launches - fewer:,} as joined"
    time = seconds(sum(block.seconds for block in shown.blocks.values()))
    return [
        data(shown.bytes - saved),
        f"through DRAM: {apart}{less}",
        kernels,
        f"GPU time of the ops apart: {time}",
        "",
    ]


def _gain(now: Prediction, trial: Trial, after: Prediction) -> list[str]:
    """What joining changes, from the step as it is to the step as it would be."""
    low, high = after.interval_s
    many = f", in {trial.count} kernels" if trial.count > 1 else ""
    return [
        f"DRAM bytes saved a step{many}",
        f"Kernels launched: {now.kernel_count:,} to {after.kernel_count:,}",
        f"GPU busy: {seconds(now.gpu_busy_s)} to {seconds(after.gpu_busy_s)}",
        f"Host: {seconds(now.host_s)} to {seconds(after.host_s)}",
        f"End to end: {seconds(now.period_s)} to {seconds(after.period_s)} "
        f"({change(now.period_s, after.period_s)}), 80%: {seconds(low)} to {seconds(high)}",
        _why(now, after),
    ]


def _why(now: Prediction, after: Prediction) -> str:
    """Whether the gain on the GPU arrives at the end."""
    local, whole = now.gpu_busy_s - after.gpu_busy_s, now.period_s - after.period_s
    if local > 0 and whole < 0.5 * local:
        return "The host hides most of it: the GPU waits for the host, not for memory."
    return ""
