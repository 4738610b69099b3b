"""Fusion by hand: a layer's ops as blocks that can be fused into kernels and split again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.answers.side import Question, Side
from app.formulas.changes import moved_bytes
from app.formulas.formula import Formula
from app.quantities import data, seconds
from app.scenes.fusion import parts, scene
from app.scenes.fusion_reasons import refusal
from app.theme import Theme
from app.views.fusion.canvas import FusionCanvas
from app.views.fusion.panel import FusionPanel, saved_by_fusion
from app.views.lessons.pieces import Rule
from app.views.op_entries import op_entries
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.strip import Strip
from app.widgets.view import View
from simulator.analysis.block_diagram import BlockDiagram, Set, Trial
from simulator.scenario.apply import apply


class FusionView(View):
    """One layer at a time. The simulator decides which ops can be fused, and predicts the
    saving."""

    title = "Fusion"
    workspace = "Fusion"
    waits = True

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.joining: BlockDiagram | None = None
        self.trial: Trial | None = None
        self._parts: dict[str, list[int]] = {}
        self.strip = Strip(theme)
        self.part = self.strip.choice("Part of the network", [], lambda _: self._show_part())
        self.part.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.strip.label("ribbons: DRAM traffic, width in bytes; dotted: stays on chip")
        self.strip.stretch()
        self.canvas = FusionCanvas(theme)
        self.canvas.chose.connect(lambda: self._chose())
        self.canvas.fuse_requested.connect(self.fuse)
        self.canvas.split_requested.connect(self.split)
        self.panel = FusionPanel()
        self.panel.fuse_clicked.connect(self.fuse)
        self.panel.split_clicked.connect(lambda: self.split(self._fused_selection()))
        self.panel.toggled.connect(self._chose)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setAccessibleName("Ops as blocks, scroll area")
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
        row.addWidget(self.panel)
        column.addLayout(row, 1)
        self.setFocusProxy(self.canvas)
        self._describe()

    # predictions

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        if self.side is not None and self.side.prediction is not sides[current].prediction:
            self.joining = None  # a file that the scenario reads may have changed
        self.side, self.trial = sides[current], None
        self.canvas.say(f"Tracing the ops of {Path(self.side.scenario.network).name} …")
        self._describe()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        scenario, current_joining = sides[current].scenario, self.joining
        chosen, everywhere = self.canvas.chosen, self.panel.everywhere.isChecked()

        def work(cancelled: Any) -> tuple[BlockDiagram, Trial | None]:
            joining = current_joining
            if joining is None or joining.scenario.key != scenario.key:
                joining = BlockDiagram(scenario)
            return joining, joining.tried(chosen, everywhere) if len(chosen) > 1 else None

        return work

    def answer(self, result: tuple[BlockDiagram, Trial | None]) -> None:
        joining, trial = result
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
        up_to_date = trial is not None and frozenset(trial.members) == self.canvas.chosen
        self.trial = trial if up_to_date else None
        self.canvas.show_trial(self.trial)
        self._describe()

    def fail(self, reason: str) -> None:
        self.canvas.say(f"No diagram.\n{reason}")

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.strip.restyle(theme)
        self.canvas.restyle(theme)
        self.rule.theme = theme
        self.rule.update()

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        shown, over = self.canvas, self.canvas.over
        block = shown.scene.blocks.get(over) if canvas is shown and over is not None else None
        own: list[Entry] = []
        if block is not None and over is not None:
            verb = "Deselect" if over in shown.chosen else "Select"
            own.append(
                Entry(f"{verb} {block.name}\tSpace", lambda: shown.choose(shown.chosen ^ {over}))
            )
            fused = shown.scene.set_of(over)
            if fused is not None:
                by_hand = fused.choice is not None
                why = "" if by_hand else "the compiler fuses these ops"
                split = (lambda: self.split(fused)) if by_hand else None
                own.append(Entry("Split this kernel\tDel", split, why))
            own += op_entries(self, self.side, frozenset([over]), frozenset())[1:]
        if len(shown.chosen) > 1:
            ready = self.trial is not None and not self.trial.refused
            why = refusal(shown.scene, self.trial) if self.trial else "not simulated yet"
            own.append(Entry("Fuse the selected ops\tEnter", self.fuse if ready else None, why))
        if shown.chosen:
            own.append(Entry("Clear the selection\tEsc", lambda: shown.choose(frozenset())))
        return [*own, *super().entries(canvas)]

    def formula(self, at: QPoint) -> Formula | None:
        shown = self.canvas.scene
        if not shown.blocks:
            return None
        return moved_bytes(shown.name, shown.bytes, *saved_by_fusion(shown))

    def subtitle(self) -> str:
        shown = self.canvas.scene
        if not shown.blocks:
            return ""
        _, fewer = shown.saved
        ops, kernels = len(shown.blocks), shown.launches - fewer
        return f"{shown.name}: {ops} op{'s' * (ops != 1)}, {kernels} kernel{'s' * (kernels != 1)}"

    def rows(self) -> list[list[str]]:
        shown = self.canvas.scene
        rows = [["Op", "Name", "Module", "Bytes", "Time", "Kernels", "Bound by", "Fused with"]]
        for op, block in shown.blocks.items():
            fused = shown.set_of(op)
            others = [str(member) for member in fused.members if member != op] if fused else []
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
        for words, bar in zip(self.canvas.bar_names, self.canvas.preview.bars, strict=True):
            head = f"DRAM traffic {words}"
            rows += [[head, name, "", data(size), "", "", regime, ""] for name, size, regime in bar]
            rows.append([head, "all", "", data(sum(size for _, size, _ in bar)), "", "", "", ""])
        return rows if shown.blocks else []

    # user actions

    def fuse(self) -> None:
        """Request the scenario in which the selected ops are fused."""
        if self.side is not None and self.trial is not None and not self.trial.refused:
            scenario = apply(self.side.scenario, "fuse", dict(self.trial.arguments))
            self.canvas.setFocus()  # the button disappears with the selection
            self.canvas.choose(frozenset())
            self.scenario_requested.emit(scenario)

    def split(self, fused: Set | None) -> None:
        """Request the scenario in which a kernel fused by hand is split."""
        if fused is not None and fused.choice is not None and self.joining is not None:
            self.canvas.choose(frozenset())
            self.scenario_requested.emit(self.joining.without(fused.choice))

    def _show_part(self) -> None:
        name = self.part.currentText()
        if self.joining is not None and name in self._parts:
            self.canvas.show_scene(scene(self.joining, name, self._parts[name]))
            self._chose()

    def _chose(self) -> None:
        self.trial = None
        self._describe()
        self.question_changed.emit()

    def _fused_selection(self) -> Set | None:
        """The fused kernel that contains all selected blocks, or None."""
        kernels = [self.canvas.scene.set_of(op) for op in self.canvas.chosen]
        return kernels[0] if kernels and all(k is kernels[0] for k in kernels) else None

    def _describe(self) -> None:
        """Update the panel."""
        shown = self.canvas.scene
        names = [shown.blocks[op].name for op in sorted(self.canvas.chosen) if op in shown.blocks]
        before = self.side.prediction if self.side is not None else None
        self.panel.show_selection(shown, names, self.trial, self._fused_selection(), before)


def _first(names: list[str]) -> str:
    """The first numbered layer, or the first part if no part has a number."""
    return next((name for name in names if name.split(",")[0][-1:].isdecimal()), names[0])
