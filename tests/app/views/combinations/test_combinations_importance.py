"""What explains the spread of combinations: hand-computed shares of variance, and groups by
axis."""

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.scenes.combinations.importance import explained, group_summaries, importance
from app.scenes.combinations.table import FIGURES, CombinationColumn, CombinationTable
from app.theme import DARK, LIGHT, Theme, contrast, ordered_colours
from app.views.combinations.view import Combinations
from tests.app.views.conftest import picture


def _table(time: list[float], one: list[int], other: list[int]) -> CombinationTable:
    columns = (
        CombinationColumn("One", np.array(one, float), ("a", "b")),
        CombinationColumn("Other", np.array(other, float), ("x", "y")),
        CombinationColumn("Time", np.array(time)),
        CombinationColumn("Share", np.array(time), share=True),
    )
    rows = len(time)
    return CombinationTable(columns, ("one", "other"), ((),) * rows, np.zeros(rows, np.int64), 0)


def test_shares_by_hand():
    """Figures 1, 3, 5, 9: mean 4.5, total 12.25 + 2.25 + 0.25 + 20.25 = 35. Grouped by One, the
    means are 2 and 7: 2 · 2.5² + 2 · 2.5² = 25. Grouped by Other, they are 3 and 6: 4 · 1.5² = 9. 1
    is left to both together."""
    table = _table([1, 3, 5, 9], [0, 0, 1, 1], [0, 1, 0, 1])
    result = importance(table, "Share", np.ones(4, bool))
    assert result.shares == pytest.approx({"One": 25 / 35, "Other": 9 / 35})
    assert result.together == pytest.approx(1 / 35)
    assert result.words == "One 71%, Other 26%, several axes together 3%"


def test_times_are_compared_by_their_logarithms():
    """One multiplies by 16 (two steps of 4) and Other by 4: the ratio of the variances is 4² : 2²,
    and nothing is left over."""
    table = _table([1, 4, 16, 64], [0, 0, 1, 1], [0, 1, 0, 1])
    result = importance(table, "Time", np.ones(4, bool))
    assert result.shares == pytest.approx({"One": 0.8, "Other": 0.2})
    assert result.together == pytest.approx(0.0, abs=1e-12)


def test_without_all_combinations_there_is_no_share_of_interactions():
    table = _table([1, 4, 16, 64], [0, 0, 1, 1], [0, 1, 0, 1])
    result = importance(table, "Time", np.array([True, True, True, False]))
    assert result.together is None and set(result.shares) == {"One", "Other"}
    one = importance(table, "Time", np.array([True, True, False, False]))
    assert one.shares == pytest.approx({"Other": 1.0})  # the axis "One" has one value in these rows
    assert importance(table, "Time", np.array([True, False, False, False])).words == ""
    assert (
        importance(_table([2] * 4, [0, 0, 1, 1], [0, 1, 0, 1]), "Time", np.ones(4, bool)).words
        == ""
    )


def test_shares_agree_with_an_analysis_of_variance():
    """Against the definition, V(E(Y | X)) / V(Y), over a grid of 3 × 4 × 5."""
    values = np.random.default_rng(5).normal(size=(3, 4, 5))
    places = np.indices(values.shape)
    total = 0.0
    for axis in range(3):
        means = values.mean(axis=tuple(each for each in range(3) if each != axis))
        share = explained(places[axis].ravel(), values.ravel())
        assert share == pytest.approx(means.var() / values.var())
        total += share
    assert 0 < total < 1


def test_groups_have_medians_of_their_matching_rows():
    table = _table([1, 3, 5, 9], [0, 0, 1, 1], [0, 1, 0, 1])
    one, _, time, _ = table.columns
    summaries = group_summaries(one, time, np.array([True, True, False, True]))
    assert [(g.text, g.count, g.median) for g in summaries] == [("a", 2, 2.0), ("b", 1, 9.0)]
    assert [g.text for g in group_summaries(one, time, np.array([True, True, False, False]))] == [
        "a"
    ]


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_colours_of_groups_stand_out_from_the_panel(theme: Theme):
    colours = ordered_colours(theme, 9)
    assert len({*colours}) == 9
    assert all(contrast(colour, theme.bg1) >= 3 for colour in colours)


def test_keys_choose_the_figure_and_the_groups(shown: Any, side: Side):
    view: Combinations = shown(Combinations, (side,), size=(1000, 500))
    canvas, table = view.canvas, view.table
    assert table is not None
    whole = importance(table, "Time", np.ones(len(table), bool))
    assert canvas.shares == whole.shares and canvas.figure == "Time"
    assert whole.words in view.status.toolTip() and view.groups.isHidden()
    QTest.keyClick(canvas, Qt.Key.Key_V)
    assert (view.explain.figure, canvas.figure) == ("Throughput", "Throughput")
    before = picture(view)
    QTest.keyClick(canvas, Qt.Key.Key_G)
    assert view.explain.by == "Batch" and view.legend.isHidden()
    assert picture(view) != before
    batch = next(c for c in table.columns if c.name == "Batch")
    rate = next(c for c in table.columns if c.name == "Throughput")
    expected = [float(np.median(rate.values[batch.values == at])) for at in range(len(batch.words))]
    assert [group.median for group in canvas.groups] == expected
    assert view.groups.accessibleDescription().startswith("Median throughput by batch; 1  ")
    column = [c.name for c in canvas.table.columns].index("Batch")  # pyright: ignore
    canvas.brush(column, -0.4, 1.4)
    assert len(canvas.groups) == 2  # only groups of the matching lines
    for _ in range(len(table.axes)):
        QTest.keyClick(canvas, Qt.Key.Key_G)
    assert view.explain.by == "" and not view.legend.isHidden() and view.groups.isHidden()


def test_commands_and_the_menu_make_the_same_choices(shown: Any, side: Side):
    view: Combinations = shown(Combinations, (side,), size=(1000, 500))
    commands = dict(view.commands())
    commands["Explain the spread of GPU time"]()
    assert view.explain.figure == "GPU time"
    assert "GPU time" in [c.name for c in view.canvas.table.columns]  # pyright: ignore
    view.explain.menu.aboutToShow.emit()
    actions = {action.text(): action for action in view.explain.menu.actions()}
    assert {*FIGURES, "regime", "Mode"} < {*actions}
    assert actions["GPU time"].isChecked() and actions["regime"].isChecked()
    actions["Mode"].trigger()
    assert view.explain.by == "Mode" and len(view.canvas.groups) == 2
    view.explain.offer(["Batch"])  # the axis of the mode is gone
    assert view.explain.by == ""


def test_lines_that_groups_share_have_no_colour_of_a_group(shown: Any, side: Side):
    """Between batch and GPU, all modes have the same lines; after the axis of modes, they
    differ."""
    view: Combinations = shown(Combinations, (side,), size=(1400, 600))
    view.explain.group("Mode")
    canvas, table = view.canvas, view.canvas.table
    assert table is not None
    names = [column.name for column in table.columns]
    image = picture(canvas)
    colours = ordered_colours(view.theme, 2)

    def coloured(first: int) -> int:
        """The pixels between two axes that are closer to a group's colour than to grey."""
        left, right = int(canvas.across(first)) + 20, int(canvas.across(first + 1)) - 20
        count = 0
        for x in range(left, right, 6):
            for y in range(60, canvas.height() - 45):
                pixel = image.pixelColor(x, y)
                count += pixel.saturation() > 130 and pixel.value() > 70
        return count

    assert len({*colours}) == 2
    assert names[:4] == ["Batch", "GPU", "Mode", "Host speed"]
    assert coloured(0) == 0 and coloured(2) > 100
