"""The panel beside the blocks: the bytes that the selected ops move, and the savings of fusing
them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QLabel, QPushButton, QVBoxLayout, QWidget

from app.quantities import change, data, seconds
from app.scenes.fusion import FusionScene
from app.scenes.fusion_reasons import reasons, refusal, saved_sum
from simulator.analysis.block_diagram import Set, Trial
from simulator.prediction import Prediction

_WIDTH_PX = 292
_HELP = (
    "Click ops to select them, or drag one onto another, to fuse them into one kernel. With the "
    "keyboard: arrows move, Space selects, Enter fuses, Delete splits, and Esc clears the "
    "selection."
)


class FusionPanel(QWidget):
    """A heading, a figure, its details, and the buttons that fuse and split."""

    fuse_clicked = Signal()
    split_clicked = Signal()
    toggled = Signal()
    """The user switched between one layer and all matching layers."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(_WIDTH_PX)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        self.head, self.figure, self.details = QLabel(), QLabel(), QLabel()
        self.head.setProperty("tone", "title")
        self.figure.setProperty("tone", "head")
        self.reasons = QLabel()
        self.reasons.setProperty("tone", "support")
        self.reasons.setAccessibleName("Why these can be fused")
        for label in (self.head, self.details, self.reasons):
            label.setWordWrap(True)
        self.everywhere = QCheckBox("Apply to all matching layers")
        self.everywhere.setChecked(True)
        self.everywhere.toggled.connect(lambda: self.toggled.emit())
        self.fuse_button, self.split_button = QPushButton("Fuse"), QPushButton("Split")
        self.fuse_button.setProperty("look", "primary")
        self.fuse_button.clicked.connect(lambda: self.fuse_clicked.emit())
        self.split_button.clicked.connect(lambda: self.split_clicked.emit())
        controls = self.everywhere, self.fuse_button, self.split_button
        for control in controls:
            control.setAccessibleName(control.text())
        for widget in (self.head, self.figure, self.details, self.reasons, *controls):
            column.addWidget(widget)
        column.addStretch(1)

    def show_selection(
        self,
        scene: FusionScene,
        names: list[str],
        trial: Trial | None,
        fused: Set | None,
        before: Prediction | None,
    ) -> None:
        """Describe the selected ops `names`: their `trial`, or the kernel `fused` that contains all
        of them. Without a selection, describe the whole scene."""
        self.figure.setText("")
        self.reasons.setText("")
        if trial is not None and trial.refused:
            self.head.setText("Can't be fused")
            self.details.setText(refusal(scene, trial))
        elif trial is not None and trial.after is not None and before is not None:
            self.head.setText(f"Fusing {_listed(names)}")
            self.figure.setText(f"−{data(trial.bytes_saved)}" if trial.bytes_saved > 0 else "0 B")
            gain = _gain(before, trial, trial.after)
            written = saved_sum(scene, trial)
            self.details.setText("\n".join([written, *gain] if written else gain))
            checks = "\n".join(f"✓ {text}" for text in reasons(scene, trial.members))
            self.reasons.setText(f"Why these can be fused\n{checks}" if checks else "")
        elif fused is not None:
            self.head.setText(f"Fused: {_listed(names)}")
            by_compiler = "Fused by the compiler; +fusion=none turns this off"
            self.details.setText(by_compiler if fused.choice is None else "Fused by hand")
        elif len(names) > 1:
            self.head.setText(f"Fusing {_listed(names)} …")
            self.details.setText("")
        else:
            self.head.setText(f"{scene.name} moves" if scene.blocks else "DRAM traffic")
            lines = _summary(scene) if scene.blocks else []
            self.figure.setText(lines[0] if lines else "")
            self.details.setText("\n".join([*lines[1:], _HELP]))
        self.figure.setVisible(bool(self.figure.text()))
        self.reasons.setVisible(bool(self.reasons.text()))
        self.everywhere.setVisible(len(names) > 1 and fused is None)
        self.fuse_button.setVisible(trial is not None and not trial.refused)
        self.split_button.setVisible(fused is not None and fused.choice is not None)


def saved_by_fusion(scene: FusionScene) -> tuple[int, int]:
    """Return the bytes and the launches that the fused kernels of a scene save."""
    saved, fewer = scene.saved
    return max(0, saved), fewer


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _summary(scene: FusionScene) -> list[str]:
    """The bytes that a scene moves with its current fusion, followed by their derivation."""
    saved, fewer = saved_by_fusion(scene)
    derived = ", with each op on its own"
    if saved > 0:
        saves = f"minus {data(saved)} saved by fusion"
        derived = f": {data(scene.bytes)} with each op on its own, {saves}"
    ops = len(scene.blocks)
    kernels = f"Kernels: {scene.launches:,} for {ops:,} op{'s' * (ops != 1)}"
    if fewer:
        kernels += f" unfused, {scene.launches - fewer:,} fused"
    if scene.launches > ops:
        kernels += "; some ops launch several"
    time = seconds(sum(block.seconds for block in scene.blocks.values()))
    return [
        data(scene.bytes - saved),
        f"through DRAM{derived}",
        kernels,
        f"GPU time, unfused: {time}",
        "",
    ]


def _gain(before: Prediction, trial: Trial, after: Prediction) -> list[str]:
    """The changes that fusing makes, from the current step to the fused step."""
    low, high = after.interval_s
    kernels = f", in {trial.count} kernels" if trial.count > 1 else ""
    return [
        f"DRAM bytes saved per step{kernels}",
        f"Kernels launched: {before.kernel_count:,} to {after.kernel_count:,}",
        f"GPU busy: {seconds(before.gpu_busy_s)} to {seconds(after.gpu_busy_s)}",
        f"Host: {seconds(before.host_s)} to {seconds(after.host_s)}",
        f"Step: {seconds(before.period_s)} to {seconds(after.period_s)} "
        f"({change(before.period_s, after.period_s)}), 80%: {seconds(low)} to {seconds(high)}",
        _hidden_gain(before, after),
    ]


def _hidden_gain(before: Prediction, after: Prediction) -> str:
    """A note if less than half of the GPU time saved shortens the step."""
    gpu_s, step_s = before.gpu_busy_s - after.gpu_busy_s, before.period_s - after.period_s
    if gpu_s > 0 and step_s < 0.5 * gpu_s:
        return "The step hardly gets shorter: the GPU waits for the host, not for memory."
    return ""
