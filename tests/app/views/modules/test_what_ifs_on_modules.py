"""What-ifs on a part of the tree: dropped on it, or chosen in its menu."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from app.answers.cards import MIME
from app.answers.side import Side
from app.scenes.module_tree import ModuleNode, module_tree
from app.scenes.part_what_ifs import PartChange, choices, dropped, pattern
from app.views.modules.view import WhereTimeGoes
from app.widgets.context_menu import Entry
from simulator.scenario.scenario import Applied, Scenario, predict
from simulator.whatif import whatifs

GPT = Scenario("gpt2", batch=1, seq=64, sizes={"layers": 2}, dtype="bf16")


@pytest.fixture(scope="module")
def gpt() -> Side:
    return Side("A", "Today", GPT, predict(GPT))


@pytest.fixture(scope="module")
def parts(gpt: Side) -> dict[str, ModuleNode]:
    return {part.path: part for part in module_tree(gpt.prediction).all()}


def on(name: str, part: ModuleNode | None, side: Side) -> PartChange:
    return dropped(f"whatif:{name}", part, side.scenario, side.prediction)


def last(change: PartChange) -> Applied:
    assert change.scenario is not None
    return change.scenario.whatifs[-1]


def block_of(parts: dict[str, ModuleNode]) -> ModuleNode:
    """The node of the two identical blocks."""
    return next(part for part in parts.values() if len(part.modules) == 2)


def test_a_part_is_named_by_its_pattern(parts: dict[str, ModuleNode]) -> None:
    block = block_of(parts)
    assert block.path.endswith(".*") and pattern(block) == block.path[:-1] + "#"
    op = next(
        p for p in parts.values() if p.parent and not p.modules and not p.wait and p.parent.parent
    )
    assert op.parent is not None and pattern(op) == pattern(op.parent)


def test_precision_of_a_module(gpt: Side, parts: dict[str, ModuleNode]) -> None:
    block = block_of(parts)
    change = on("precision", block, gpt)
    # the card states bf16, and the weights have it already
    assert change.scenario is None
    assert change.words == (
        f"the weights of {block.name} are bf16 already: choose another dtype in its menu"
    )
    change = next(c for c in choices(block, GPT, gpt.prediction) if c.title == "precision fp32")
    assert last(change) == Applied("precision", {"dtype": "fp32", "modules": pattern(block)})
    assert change.words == f"+precision=fp32,modules={pattern(block)}"
    assert change.scenario is not None
    slower = predict(change.scenario)
    assert slower.period_s > 0 and slower.gpu_busy_s > gpt.prediction.gpu_busy_s
    fp32 = Side("A", "fp32", replace(GPT, dtype="fp32"), predict(replace(GPT, dtype="fp32")))
    part = next(p for p in module_tree(fp32.prediction).all() if p.path == block.path)
    assert last(on("precision", part, fp32)).arguments["dtype"] == "bf16"


def test_missing_tensor_cores_are_noted(parts: dict[str, ModuleNode]) -> None:
    old = replace(GPT, gpu="v100_sxm2_16", dtype="fp32")
    side = Side("A", "V100", old, predict(old))
    part = next(p for p in module_tree(side.prediction).all() if p.path == block_of(parts).path)
    change = on("precision", part, side)
    assert change.words.endswith(
        "V100 SXM2 16GB has no bf16 tensor cores, so its vector units compute it"
    )
    assert change.scenario is not None
    refused = on("fp8", part, side)
    assert refused.scenario is None
    assert refused.words.startswith("fp8: V100 SXM2 16GB has no float8 tensor cores: expected")


@pytest.mark.parametrize(("name", "words"), [
    ("cuda_graph", "cuda graph applies to the whole step"), ("recompute", "recompute: the step is"),
    ("freeze", "freeze: the step is inference"), ("batch", "batch applies to the whole step"),
])  # fmt: skip
def test_impossible_what_ifs_are_refused_with_the_reason(
    gpt: Side, parts: dict[str, ModuleNode], name: str, words: str
) -> None:
    change = on(name, block_of(parts), gpt)
    assert change.scenario is None
    assert change.words.lower().startswith(words)


def test_waits_and_parts_without_weights_are_refused(
    gpt: Side, parts: dict[str, ModuleNode]
) -> None:
    wait = next(part for part in parts.values() if part.wait)
    assert on("precision", wait, gpt).words == (
        f"{wait.name}: no kernel runs: expected a module with kernels; choose one"
    )
    gelu = next(p for p in parts.values() if "gelu" in p.name and not p.wait)
    words = on("precision", gelu, gpt).words
    assert "has no weights" in words or "is one op: expected a module" in words
    network = next((p for p in parts.values() if p.path.startswith("(")), None)
    if network is not None:
        assert "is not a module" in on("precision", network, gpt).words
    assert dropped("gpu:l40s", block_of(parts), GPT, gpt.prediction).scenario is None


def test_an_op_can_be_removed_where_it_is(gpt: Side, parts: dict[str, ModuleNode]) -> None:
    op = next(
        p for p in parts.values() if p.parent and p.parent.modules and not p.modules and not p.wait
    )
    change = on("remove", op, gpt)
    assert last(change).arguments == {"op": op.name, "modules": pattern(op)}
    assert change.scenario is not None
    assert predict(change.scenario).kernel_count < gpt.prediction.kernel_count
    whole = on("remove", block_of(parts), gpt)
    assert last(whole).arguments == {"op": "*", "modules": pattern(block_of(parts))}


def test_the_step_takes_the_what_ifs_of_the_scenario(
    gpt: Side, parts: dict[str, ModuleNode]
) -> None:
    for part in (parts[""], None):
        assert last(on("cuda_graph", part, gpt)).name == "cuda_graph"
        changed = dropped("gpu:l40s", part, GPT, gpt.prediction).scenario
        assert changed == replace(GPT, gpu="l40s")
    assert "needs" in on("size", parts[""], gpt).words


def test_the_menu_has_every_what_if_that_takes_a_pattern(
    gpt: Side, parts: dict[str, ModuleNode]
) -> None:
    names = {w.name for w in whatifs() if any(p.pattern for p in w.parameters)}
    assert names == {
        "precision",
        "fp8",
        "nvfp4",
        "weights",
        "remove",
        "fuse",
        "fused_experts",
        "recompute",
        "freeze",
    }
    offered = choices(block_of(parts), GPT, gpt.prediction)
    titles = [change.title for change in offered]
    # precision has 6 dtypes, and weights have 3
    assert len(titles) == 6 + 7 + 3
    by = {change.title: change for change in offered}
    assert by["fused experts"].scenario is None and "a mixture" in by["fused experts"].words
    assert by["precision fp16"].scenario is not None and by["weights int4"].scenario is not None
    assert by["precision bf16"].words == (
        f"the weights of {block_of(parts).name} are bf16 already: choose another dtype in its menu"
    )
    assert "autocast" in by["precision autocast"].words


def data(key: str) -> QMimeData:
    dropped = QMimeData()
    dropped.setData(MIME, QByteArray(key.encode()))
    return dropped


@pytest.fixture
def view(shown: Any, gpt: Side) -> Iterator[WhereTimeGoes]:
    yield shown(WhereTimeGoes, (gpt,))


def test_a_drag_shows_the_effect_of_a_drop_at_each_part(shown: Any) -> None:
    scenario = replace(GPT, dtype="fp32")
    view = shown(WhereTimeGoes, (Side("A", "fp32", scenario, predict(scenario)),))
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    boxes = {part.path: box for part, box in view.canvas.boxes()}
    part = next(p for p, _ in view.canvas.boxes() if len(p.modules) == 2)
    none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy, card = Qt.DropAction.CopyAction, data("whatif:precision")
    step, block = boxes[""].center(), boxes[part.path].center()
    QApplication.sendEvent(view.canvas, QDragEnterEvent(step.toPoint(), copy, card, *none))
    outline = view.target.outline
    assert outline.isVisible() and outline.words == "+precision=bf16" and not outline.refused
    QApplication.sendEvent(view.canvas, QDragMoveEvent(block.toPoint(), copy, card, *none))
    assert outline.words == f"+precision=bf16,modules={pattern(part)}" and not outline.refused
    assert view.canvas.over is part and view.canvas.card() is None
    QApplication.sendEvent(view.canvas, QDropEvent(block, copy, card, *none))
    assert [s.whatifs[-1].arguments["modules"] for s in emitted] == [pattern(part)]
    assert not outline.isVisible() and view.canvas.over is None


def test_the_menu_is_opened_by_key_and_does_the_same(view: WhereTimeGoes) -> None:
    emitted: list[Scenario] = []
    opened: list[list[Entry]] = []
    view.scenario_requested.connect(emitted.append)
    view.menu_requested.connect(lambda entries, at: opened.append(entries))
    part = next(p for p, _ in view.canvas.boxes() if len(p.modules) == 2)
    view.canvas.show_over(part)
    view.canvas.setFocus()
    key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), QPoint(5, 5))
    QApplication.sendEvent(view.canvas, key)
    at = dict(view.canvas.boxes())[view.canvas.root].center().toPoint()
    mouse = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, at)
    QApplication.sendEvent(view.canvas, mouse)
    assert [entries[0].text for entries in opened] == [pattern(part), "step"]
    entries = {entry.text: entry for entry in opened[0]}
    recompute, fp16 = entries["recompute"], entries["precision fp16"]
    assert recompute.run is None
    assert recompute.note == "the step is inference: expected training"
    assert fp16.run is not None
    fp16.run()
    assert emitted[-1].whatifs[-1].arguments == {"dtype": "fp16", "modules": pattern(part)}
    assert view.canvas.hit(QPointF(-5, -5)) is None
