"""The inspector: the current scenario's values, each of which can be changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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

from app.answers.answer import BatchRegimes, batch_and_seq
from app.answers.changes import gpu_of, with_field, with_network
from app.explorer.background.advising import Advising
from app.explorer.inspector.advice_panel import AdvicePanel
from app.explorer.inspector.applied import AppliedList
from app.explorer.inspector.goals import Goals
from app.explorer.state.session import Session
from app.theme import Theme
from app.widgets.choice import Choice
from app.widgets.controls import Number, Segments
from app.widgets.style import INSPECTOR_WIDTH
from simulator.errors import RidgepointError
from simulator.hardware.gpu import GPU, gpus
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
    "fp32": "fp32", "bf16": "bf16", "fp16": "fp16",
    "autocast": "autocast: fp32 weights, products in bf16",
    "autocast-fp16": "autocast-fp16: fp32 weights, products in fp16",
}  # fmt: skip
_MODES = {"eager": "eager", "cuda_graph": "CUDA graph", "compiled": "compiled"}
_COMPILER_MODES: dict[Mode, str] = {
    "compiled": "default", "reduce-overhead": "reduce-overhead: in CUDA graphs",
    "max-autotune": "max-autotune: templates, in graphs",
    "max-autotune-no-cudagraphs": "max-autotune, no CUDA graphs",
}  # fmt: skip
"""torch.compile's own modes, each with its words."""
_PHASES = {"inference": "inference", "training": "training"}


class Inspector(QScrollArea):
    """Controls of a scenario. Each change is a step of the session."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.labels: dict[str, QLabel] = {}
        self._along_of: Scenario | None = None
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
            control.changed.connect(lambda value, n=name: self._number(n, value))
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
        self.edit_gpu.setToolTip("Change its figures, or make a GPU of your own")
        self.gpu = self._choice("GPU", [], self._gpu, beside=self.edit_gpu)
        self.list_gpus()
        self.host = self._choice("Host", list(hosts()), lambda v: self._field("host", v))
        self.applied = AppliedList(session, theme)
        self.advice = AdvicePanel(session, theme)
        self.column.addWidget(self.applied)
        self.column.addWidget(self.advice)
        self.goals = Goals(session)
        self.column.addWidget(self.goals)
        self.column.addStretch(1)
        self.show_scenario(session.state.scenario)

    def show_scenario(self, scenario: Scenario) -> None:
        """The values of a scenario, with its what-ifs."""
        self.applied.show_scenario(scenario)
        if self._along_of != replace(scenario, batch=None):  # along the batch the mark holds
            self.batch.mark_shift(None)
        try:
            found = resolve(scenario)
        except RidgepointError:  # the banner says why; the values stay as they were
            return
        saved = scenario.trace_file is not None
        fixed = "fixed in a saved trace" if saved else ""
        batch, seq = batch_and_seq(scenario)
        none = fixed or f"{found.ask.network} has no sequence, or says itself how long it is"
        self.batch.put(None if saved else batch or 1, fixed)
        self.seq.put(None if saved else seq, none if seq is None else "")
        entry = CATALOGUE.get(found.ask.network)
        refused = (
            {"training": f"{found.ask.network} is for inference only"}
            if (entry is not None and not entry.trains)
            else {}
        )
        every = dict.fromkeys
        self.precision.put(found.ask.dtype, every(_PRECISIONS, fixed) if saved else {})
        compiled = compiles(found.mode)
        self.mode.put("compiled" if compiled else found.mode)
        for shown in (self.compiler, self.labels["Mode of torch.compile"]):
            shown.setVisible(compiled)
        if compiled:
            self._select(self.compiler, found.mode, found.mode)
        self.phase.put(
            "training" if found.ask.training else "inference",
            every(_PHASES, fixed) if saved else refused,
        )
        self._select(self.network, found.ask.network, Path(found.ask.network).name)
        self._show_gpu(scenario, found.gpu)
        self._select(self.host, found.host.id, found.host.id)
        self._describe(found)

    def follow(self, advising: Advising) -> None:
        """Show what is found to help."""
        advising.begun.connect(self.advice.wait)
        advising.begun.connect(self.goals.wait)
        advising.tried.connect(self.advice.count)
        self.advice.more_asked.connect(advising.ask_more)
        advising.found.connect(self.advice.show_found)
        advising.failed.connect(self.advice.fail)
        advising.sought.connect(self.goals.show_sought)
        self.goals.asked.connect(advising.seek)

    def wait(self) -> None:
        """What helps is not known of the scenario as it is now."""
        self.advice.wait()
        self.goals.wait()

    def show_along(self, along: BatchRegimes | None) -> None:
        """Mark the next shift on the batch's slider."""
        self._along_of = replace(self.session.state.scenario, batch=None)
        shift = along and (along.shift or along.below)
        self.batch.mark_shift(shift.first if shift else None)

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        for control in (self.batch, self.seq):
            control.slider.theme = theme
            control.slider.update()
        for choice in (self.network, self.compiler, self.gpu, self.host):
            choice.theme = theme
            choice.update()
        self.applied.restyle(theme)
        self.advice.restyle(theme)

    def _describe(self, found: ResolvedScenario) -> None:
        self.gpu.setToolTip(f"{found.gpu.name}, {found.gpu.architecture or 'unknown architecture'}")
        self.host.setToolTip(found.host.cpu)

    def _segments(
        self, name: str, words: dict[str, str], tips: dict[str, str], field: str
    ) -> Segments:
        made = Segments(name, words, tips)
        made.chosen.connect(
            lambda value: self._field(field, value == "training" if field == "training" else value)
        )
        self._labelled(name, made)
        return made

    def list_gpus(self) -> None:
        """Offer the GPUs that there are now."""
        known = {card.id: card.name for card in gpus()}
        self.cards: dict[str, str | Mapping[str, Any]] = {name: name for name in known}
        with QSignalBlocker(self.gpu):
            self.gpu.clear()
            for name, words in known.items():
                self.gpu.addItem(words, name)

    def _show_gpu(self, scenario: Scenario, card: GPU) -> None:
        """A GPU that is in no folder, such as one of a file elsewhere, is offered from now on."""
        if self.cards.get(card.id) != card.id:
            self.cards[card.id] = gpu_of(scenario)
        self._select(self.gpu, card.id, card.name)
        self.gpu.setItemText(self.gpu.currentIndex(), card.name)

    def _choice(
        self, name: str, values: list[str], chosen: Any, beside: QWidget | None = None
    ) -> Choice:
        made = Choice(self.theme, name)
        policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        made.setSizeAdjustPolicy(policy)  # long names are cut, and widen no panel
        made.setMinimumContentsLength(8)
        for value in values:
            made.addItem(value, value)
        made.activated.connect(lambda index: chosen(made.itemData(index)))
        self._labelled(name, made, beside)
        return made

    def _labelled(self, name: str, control: QWidget, beside: QWidget | None = None) -> None:
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
        self.column.addLayout(column)

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

    def _field(self, name: str, value: Any, merge: str = "") -> None:
        word = value if name != "training" else "training" if value else "inference"
        changed = with_field(self.session.state.scenario, name, value)
        self.session.ask(changed, f"{name} {word}", merge)

    def _gpu(self, name: str) -> None:
        changed = with_field(self.session.state.scenario, "gpu", self.cards[name])
        self.session.ask(changed, f"gpu {self.gpu.currentText()}")

    def _network(self, name: str) -> None:
        self.session.ask(with_network(self.session.state.scenario, name), f"network {name}")
