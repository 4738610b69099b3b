"""What-ifs on a row of the op table: dropped on it, or chosen in its menu."""

from typing import Any

import pytest
from PySide6.QtCore import QByteArray, QMimeData, Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from app.answers.cards import MIME
from app.answers.side import Side
from app.scenes.op_table import By, groups
from app.scenes.part_what_ifs import pattern
from app.scenes.row_what_ifs import on_row, parts_of, patterns, row_choices
from app.views.modules.part_menu import part_entries
from app.views.ops.view import OpTable
from simulator.scenario.scenario import Applied, Scenario, predict

GPT = Scenario("gpt2", batch=1, seq=64, sizes={"layers": 2}, training=True)
RESNET = Scenario("resnet50", batch=1)
NORMS = ["blocks.#.attention_norm", "blocks.#.norm", "norm"]


@pytest.fixture(scope="module")
def gpt() -> Side:
    return Side("A", "Today", GPT, predict(GPT))


@pytest.fixture(scope="module")
def resnet() -> Side:
    return Side("A", "Today", RESNET, predict(RESNET))


def group_of(side: Side, by: By, *words: str) -> int:
    """The first row that contains these words."""
    rows = groups(side.prediction, by)
    for row in range(len(rows)):
        own = [column.distinct[int(column.each[row])] for column in rows.words.values()]
        if all(word in own for word in words):
            return row
    raise AssertionError(words)


def asked_of(side: Side, by: By, *words: str) -> list[tuple[str, bool]]:
    rows = groups(side.prediction, by)
    parts = parts_of(rows, group_of(side, by, *words), side.prediction)
    return [(pattern(part), bool(part.modules)) for part in parts]


def precision(side: Side, by: By, *words: str) -> list[Applied]:
    rows = groups(side.prediction, by)
    parts = parts_of(rows, group_of(side, by, *words), side.prediction)
    change = on_row("whatif:precision", parts, side.scenario, side.prediction)
    assert change.scenario is not None, change.words
    return list(change.scenario.whatifs)


def test_patterns_name_no_other_module() -> None:
    every = {"stem.0", "stem.1", "a.0.up", "a.1.up", "a.2.up"}
    assert patterns({"stem.0"}, every) == {"stem.0": {"stem.0"}}
    assert patterns({"a.0.up", "a.1.up", "a.2.up"}, every) == {
        "a.#.up": {"a.0.up", "a.1.up", "a.2.up"}
    }
    assert set(patterns({"a.0.up", "a.1.up"}, every)) == {"a.0.up", "a.1.up"}  # all except a.2.up


def test_a_row_stands_for_the_modules_whose_weights_it_reads(gpt: Side, resnet: Side) -> None:
    assert asked_of(gpt, "op", "native_layer_norm") == [(name, True) for name in NORMS]
    # the op is only a part of this module
    assert asked_of(gpt, "op", "gelu") == [("blocks.#", False)]
    assert asked_of(gpt, "module", "blocks.*.up") == [("blocks.#.up", True)]
    assert asked_of(gpt, "launch", "addmm", "blocks.1.up") == [("blocks.1.up", True)]
    # the convolution is step 0 and the norm is step 1, so one pattern for both names would change
    # both
    assert asked_of(resnet, "op", "convolution") == [
        ("blocks.#.shortcut.0", True),
        ("blocks.#.steps.#.0", True),
        ("stem.0", True),
    ]


def test_precision_dropped_on_a_row(gpt: Side) -> None:
    assert precision(gpt, "launch", "addmm", "blocks.1.up") == [
        Applied("precision", {"dtype": "bf16", "modules": "blocks.1.up"})
    ]
    several = precision(gpt, "op", "native_layer_norm")
    assert [each.arguments["modules"] for each in several] == NORMS
    faster = predict(
        Scenario(
            "gpt2",
            batch=1,
            seq=64,
            sizes={"layers": 2},
            training=True,
            whatifs=tuple(precision(gpt, "op", "addmm")),
        )
    )
    assert faster.gpu_busy_s < gpt.prediction.gpu_busy_s


def test_what_ifs_that_a_row_refuses_have_reasons(gpt: Side, resnet: Side) -> None:
    def words(side: Side, by: By, *of: str, card: str = "precision") -> str:
        p = side.prediction
        parts = parts_of(groups(p, by), group_of(side, by, *of), p)
        change = on_row(f"whatif:{card}", parts, side.scenario, p)
        assert change.scenario is None
        return change.words

    assert words(gpt, "op", "gelu") == (
        "gelu is one op: expected a module; choose blocks.#, which contains it"
    )
    assert "is not a module: expected a module of the network" in words(gpt, "op", "arange")
    assert words(resnet, "op", "max_pool2d_with_indices").startswith("(the network itself)")
    assert "applies to the whole step, not to a module" in words(gpt, "op", "addmm", card="batch")
    p = resnet.prediction
    part = parts_of(groups(p, "launch"), group_of(resnet, "launch", "stem.0"), p)
    many = on_row("whatif:precision", part * 9, RESNET, p)
    assert many.scenario is None
    assert many.words.startswith("these ops are in 9 different modules: expected at most 8")


def test_the_menu_of_an_op_states_a_reason_once(gpt: Side) -> None:
    """Regression: thirteen of its sixteen entries repeated that gelu is a single op."""
    p = gpt.prediction
    parts = parts_of(groups(p, "op"), group_of(gpt, "op", "gelu"), p)
    entries = part_entries(row_choices(parts, GPT, p), lambda _: None)
    reasons = [entry.note for entry in entries if entry.run is None]
    assert len(set(reasons)) == len(reasons) <= 3
    of_modules = next(e for e in entries if e.note == "gelu is one op: expected a module")
    assert of_modules.text.startswith("precision, fp8, nvfp4, weights, ")
    assert [entry.text for entry in entries if entry.run is not None] == ["remove"]


def test_the_menu_of_a_row_has_every_choice(gpt: Side) -> None:
    p = gpt.prediction
    parts = parts_of(groups(p, "op"), group_of(gpt, "op", "addmm"), p)
    by_title = {change.title: change for change in row_choices(parts, GPT, p)}
    assert {"precision bf16", "precision fp16", "fp8", "remove", "freeze"} <= set(by_title)
    after = by_title["precision fp16"].scenario
    assert after is not None and [a.arguments["dtype"] for a in after.whatifs] == ["fp16"] * 4
    assert by_title["precision fp16"].words == (
        "precision fp16 of 4 modules: blocks.#.attention.out, blocks.#.attention.qkv, "
        "blocks.#.down, blocks.#.up"
    )
    assert by_title["precision fp32"].scenario is None  # the weights have this dtype already


def test_a_card_over_the_table_shows_the_effect_of_a_drop(shown: Any, gpt: Side) -> None:
    view = shown(OpTable, (gpt,))
    view.by.button(2).click()  # by shape, because "launch" is the last grouping
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    rows, viewport = view.model.groups, view.table.viewport()
    row = next(
        at
        for at, g in enumerate(view.model.order.tolist())
        if view.model.text(g, 0) == "native_layer_norm"
    )
    view.table.scrollTo(view.model.index(row, 0))
    at = view.table.visualRect(view.model.index(row, 0)).center()
    data = QMimeData()
    data.setData(MIME, QByteArray(b"whatif:precision"))
    held = Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton
    keys = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(viewport, QDragEnterEvent(at, *held, keys))
    what_ifs = view.what_ifs
    assert what_ifs.hovered == int(view.model.order[row]) and what_ifs.target.outline.isVisible()
    assert what_ifs.target.outline.words == f"precision bf16 of 3 modules: {', '.join(NORMS)}"
    QApplication.sendEvent(viewport, QDropEvent(at.toPointF(), *held, keys))
    assert [each.arguments["modules"] for each in emitted[0].whatifs] == NORMS
    assert what_ifs.hovered is None and not what_ifs.target.outline.isVisible()
    QApplication.sendEvent(viewport, QDragEnterEvent(at, *held, keys))
    QApplication.sendEvent(viewport, QDragLeaveEvent())
    assert what_ifs.hovered is None and rows is not None
    entries = what_ifs.entries(row)
    assert entries[0].text == "native_layer_norm"
    fp16 = next(e for e in entries if e.text == "precision fp16")
    assert fp16.run is not None
    fp16.run()
    assert [each.arguments["dtype"] for each in emitted[1].whatifs] == ["fp16"] * 3
    assert what_ifs.entries(-1) == []
