"""The inspector: controls for all values of the current scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.answers.answer import Answer, BatchRegimes, batch_and_seq, positions
from app.answers.changes import gpu_of, with_field, with_network
from app.explorer.background.advising import Advising
from app.explorer.inspector.advice_panel import AdvicePanel
from app.explorer.inspector.applied import AppliedList
from app.explorer.inspector.goals import Goals
from app.explorer.state.gpu_cache import stored_gpus
from app.explorer.state.session import Session
from app.theme import Theme
from app.widgets.fields.choice import Choice
from app.widgets.fields.controls import Number, Segments
from app.widgets.style import INSPECTOR_WIDTH
from simulator.errors import RidgepointError
from simulator.hardware.gpu import GPU
from simulator.hardware.host import hosts
from simulator.modes import Mode, compiles
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Scenario

_PRECISIONS = {
    "fp32": "fp32",
    "bf16": "bf16",
    "fp16": "fp16",
    "autocast": "amp",
    "autocast-fp16": "amp16",
}
_PRECISION_TIPS = {
    **{name: name for name in ("fp32", "bf16", "fp16")},
    "autocast": "autocast: fp32 weights, bf16 matrix products",
    "autocast-fp16": "autocast-fp16: fp32 weights, fp16 matrix products",
}
_MODES = {"eager": "eager", "cuda_graph": "CUDA graph", "compiled": "compiled"}
_COMPILER_MODES: dict[Mode, str] = {
    "compiled": "default",
    "reduce-overhead": "reduce-overhead: with CUDA graphs",
    "max-autotune": "max-autotune: templates, CUDA graphs",
    "max-autotune-no-cudagraphs": "max-autotune, no CUDA graphs",
}
"""The modes of torch.compile, with their labels."""
_PHASES = {"inference": "inference", "training": "training"}


class Inspector(QScrollArea):
    """Controls of a scenario. Each change is one undo step of the session."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.labels: dict[str, QLabel] = {}
        self._along_of: Scenario | None = None
        self._own: Answer | None = None
        """The last answer of a file's network, which may choose sizes and dtype itself."""
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(INSPECTOR_WIDTH - 2)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside = QWidget()
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(12, 12, 12, 12)
        self.column.setSpacing(12)
        self.setWidget(inside)

        self.network = self._choice("Network", sorted(CATALOGUE), self._network)
        self.batch = Number(theme, "Batch", 1024, (1, 4, 16, 64, 256, 1024))
        self.seq = Number(theme, "Sequence length", 8192, (16, 128, 1024, 8192))
        for name, control in (("batch", self.batch), ("seq", self.seq)):
            control.changed.connect(partial(self._number, name))
            control.drag_ended.connect(session.drag_ended)
            self.column.addWidget(control)
        self.precision = self._segments("Precision", _PRECISIONS, _PRECISION_TIPS, "dtype")
        self.mode = self._segments("Mode", _MODES, {}, "mode")
        self.compiler = self._choice("Mode of torch.compile", [], lambda v: self._field("mode", v))
        for value, words in _COMPILER_MODES.items():
            self.compiler.addItem(words, value)
        self.phase = self._segments("Step", _PHASES, {}, "training")
        self.edit_gpu = QToolButton()
        self.edit_gpu.setText("Edit …")
        self.edit_gpu.setProperty("look", "quiet")
        self.edit_gpu.setAccessibleName("Edit the GPU")
        self.edit_gpu.setToolTip("Edit the figures of this GPU, or create your own")
        row = QHBoxLayout()  # side by side, so that the first advice stays in view
        row.setSpacing(8)
        self.gpu = self._choice("GPU", [], self._gpu, self.edit_gpu, row)
        self.list_gpus()
        self.host = self._choice("Host", list(hosts()), lambda v: self._field("host", v), None, row)
        self.column.addLayout(row)
        self.applied, self.advice = AppliedList(session, theme), AdvicePanel(session, theme)
        self.goals = Goals(session, theme)
        for part in (self.applied, self.advice, self.goals):
            self.column.addWidget(part)
        self.column.addStretch(1)
        self.show_scenario(session.state.scenario)

    def show_scenario(self, scenario: Scenario) -> None:
        """Show the values and the what-ifs of a scenario."""
        self.applied.show_scenario(scenario)
        if self._along_of != replace(scenario, batch=None):  # a change of the batch keeps the mark
            self.batch.mark_shift(None)
        try:
            resolved = resolve(scenario)
        except RidgepointError:  # the banner shows the error; the values are kept
            return
        saved = scenario.trace_file is not None
        fixed = "fixed by the saved trace" if saved else ""
        batch, seq = batch_and_seq(scenario)
        own = self._own if self._own and self._own.scenario.network == scenario.network else None
        if own is not None:
            batch, seq = batch or own.subject.batch, seq or own.subject.seq
        no_seq = fixed or f"{resolved.request.network} has no sequence, or its length is fixed"
        self.batch.put(None if saved else batch, fixed or "known once the network is traced")
        self.seq.put(None if saved else seq, no_seq if seq is None else "", positions(resolved))
        entry = CATALOGUE.get(resolved.request.network)
        refused = (
            {"training": f"{resolved.request.network} is for inference only"}
            if (entry is not None and not entry.trains)
            else {}
        )
        precisions = dict.fromkeys(_PRECISIONS, fixed) if saved else {}
        dtype = resolved.request.dtype
        if own is not None and own.scenario.dtype == scenario.dtype and not own.scenario.whatifs:
            own_dtype = own.subject.dtype
            if own_dtype != dtype:
                why = (
                    f"{own.subject.name} creates its weights in {own_dtype}; apply a precision card"
                )
                precisions, dtype = dict.fromkeys(_PRECISIONS, why), own_dtype
        self.precision.put(dtype, precisions)
        compiled = compiles(resolved.mode)
        self.mode.put("compiled" if compiled else resolved.mode)
        for widget in (self.compiler, self.labels["Mode of torch.compile"]):
            widget.setVisible(compiled)
        if compiled:
            self._select(self.compiler, resolved.mode, resolved.mode)
        self.phase.put(
            "training" if resolved.request.training else "inference",
            dict.fromkeys(_PHASES, fixed) if saved else refused,
        )
        self._select(self.network, resolved.request.network, Path(resolved.request.network).name)
        self._show_gpu(scenario, resolved.gpu)
        self._select(self.host, resolved.host.id, resolved.host.id)
        self._describe(resolved)

    def show_answer(self, answer: Answer) -> None:
        """Show the batch and the sequence that a network of a file chose itself."""
        self.applied.answer = answer
        network = answer.scenario.network
        if network not in CATALOGUE and answer.scenario.trace_file is None:
            self._own = answer
            self.show_scenario(self.session.state.scenario)

    def follow(self, advising: Advising) -> None:
        """Show advice and the results of goal seek."""
        advising.started.connect(self.advice.wait)
        advising.started.connect(self.goals.wait)
        advising.tried.connect(self.advice.count)
        self.advice.more_requested.connect(advising.search_all)
        advising.advice_ready.connect(self.advice.show_advice)
        advising.failed.connect(self.advice.fail)
        advising.goal_ready.connect(self.goals.show_result)
        self.goals.requested.connect(advising.seek)

    def wait(self) -> None:
        """Clear the advice and goals of the previous scenario."""
        self.advice.wait()
        self.goals.wait()

    def show_along(self, along: BatchRegimes | None) -> None:
        """Mark the next regime shift on the batch slider."""
        self._along_of = replace(self.session.state.scenario, batch=None)
        shift = along and (along.shift or along.below)
        self.batch.mark_shift(shift.first if shift else None)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        for control in (self.batch, self.seq):
            control.slider.theme = theme
            control.slider.update()
        for choice in (self.network, self.compiler, self.gpu, self.host):
            choice.theme = theme
            choice.update()
        for part in (self.applied, self.advice, self.goals):
            part.restyle(theme)

    def _describe(self, resolved: ResolvedScenario) -> None:
        gpu = resolved.gpu
        self.gpu.setToolTip(f"{gpu.name}, {gpu.architecture or 'unknown architecture'}")
        self.host.setToolTip(resolved.host.cpu)

    def _segments(
        self, name: str, words: dict[str, str], tips: dict[str, str], key: str
    ) -> Segments:
        control = Segments(name, words, tips)
        control.chosen.connect(partial(self._field, key))
        self._labelled(name, control)
        return control

    def list_gpus(self) -> None:
        """List the available GPUs."""
        names = {card.id: card.name for card in stored_gpus()}
        self.cards: dict[str, str | Mapping[str, Any]] = {name: name for name in names}
        with QSignalBlocker(self.gpu):
            self.gpu.clear()
            for name, words in names.items():
                self.gpu.addItem(words, name)

    def _show_gpu(self, scenario: Scenario, card: GPU) -> None:
        """Select the GPU of a scenario; add it to the list if no folder contains it."""
        if self.cards.get(card.id) != card.id:
            self.cards[card.id] = gpu_of(scenario)
        self._select(self.gpu, card.id, card.name)
        self.gpu.setItemText(self.gpu.currentIndex(), card.name)

    def _choice(
        self,
        name: str,
        values: list[str],
        chosen: Callable[[str], object],
        beside: QWidget | None = None,
        row: QHBoxLayout | None = None,
    ) -> Choice:
        control = Choice(self.theme, name)
        policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        control.setSizeAdjustPolicy(policy)  # long names are elided and do not widen the panel
        control.setMinimumContentsLength(5 if row else 8)
        for value in values:
            control.addItem(value, value)
        control.picked.connect(chosen)
        self._labelled(name, control, beside, row)
        return control

    def _labelled(
        self,
        name: str,
        control: QWidget,
        beside: QWidget | None = None,
        row: QHBoxLayout | None = None,
    ) -> None:
        column = QVBoxLayout()
        column.setSpacing(4)
        label = self.labels[name] = QLabel(name)
        label.setBuddy(control)
        head = QHBoxLayout()
        head.addWidget(label, 1)
        if beside is not None:
            head.addWidget(beside)
        column.addLayout(head)
        column.addWidget(control)
        if row is None:
            self.column.addLayout(column)
        else:
            row.addLayout(column, 2 if row.count() else 3)  # the names of GPUs are longer

    @staticmethod
    def _select(box: QComboBox, value: str, words: str) -> None:
        index = box.findData(value)
        with QSignalBlocker(box):
            if index < 0:
                box.addItem(words, value)
                index = box.count() - 1
            box.setCurrentIndex(index)

    def _number(self, name: str, value: int) -> None:
        if self.session.state.scenario.trace_file is None:
            self._field(name, value, merge=name)

    def _field(self, name: str, value: str | int, merge: str = "") -> None:
        new = value == "training" if name == "training" else value
        changed = with_field(self.session.state.scenario, name, new)
        self.session.set_scenario(changed, f"{name} {value}", merge)

    def _gpu(self, name: str) -> None:
        changed = with_field(self.session.state.scenario, "gpu", self.cards[name])
        self.session.set_scenario(changed, f"GPU {self.gpu.currentText()}")

    def _network(self, name: str) -> None:
        changed = with_network(self.session.state.scenario, name)
        self.session.set_scenario(changed, f"network {name}")
