"""Designs: their combinations, and that their rows equal single predictions."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.analysis.design.design import Design, design, predict_points, summed
from simulator.analysis.sweep import Axis
from simulator.errors import InputError
from simulator.scenario.scenario import Applied, Scenario, Value, predict
from simulator.simulate.step_columns import step_row
from simulator.whatif import apply, parse

BASE = Scenario("mlp-tiny")


def test_the_last_axis_is_the_fastest():
    small = design(BASE, {"gpu": ["h100", "h200"], "batch": [1, 2, 4]})
    assert [small.values(p) for p in small.points] == [
        {"gpu": gpu, "batch": batch} for gpu in ("h100", "h200") for batch in (1, 2, 4)
    ]
    assert small.combinations == 6


def test_the_network_comes_first_and_sizes_of_the_data_last():
    axes = {"batch": [1], "gpu": ["h100"], "seq": [8], "network": ["gpt2"]}
    assert list(design(BASE, axes).axes) == ["network", "gpu", "batch", "seq"]


def test_combinations_are_not_listed():
    """10⁵ values of 3 axes are 10¹⁵ combinations: a list of them would fill the memory."""
    values = range(1, 100_001)
    large = Design(BASE, {name: tuple(values) for name in ("a", "b", "c")})
    assert large.combinations == 10**15
    assert large.values(10**15 - 1) == {"a": 100_000, "b": 100_000, "c": 100_000}
    assert large.values(10**5 + 7) == {"a": 1, "b": 2, "c": 8}


def test_a_sample_draws_no_point_twice_and_the_same_again():
    axes = {"batch": range(1, 101), "gpu": ["h100", "h200", "l40s"]}
    drawn = design(BASE, axes, sample=120, seed=1).points
    assert len(set(drawn)) == 120 and list(drawn) == sorted(drawn)
    assert drawn[0] >= 0 and drawn[-1] < 300
    assert drawn == design(BASE, axes, sample=120, seed=1).points
    assert drawn != design(BASE, axes, sample=120, seed=2).points


def test_rows_are_those_of_single_predictions():
    whatifs = ["none", "+cuda_graph", "+precision=fp16 +bandwidth=2"]
    mixed = design(BASE, {"gpu": ["h100", "l40s"], "whatifs": whatifs, "batch": [1, 64]})
    rows = predict_points(mixed, mixed.points)
    assert not rows.refused
    for point, row in zip(rows.points, rows.table, strict=True):
        values = mixed.values(point)
        single = apply(BASE, "gpu", {"to": values["gpu"]})
        for text in str(values["whatifs"]).split():
            single = single if text == "none" else apply(single, *parse(text))
        single = apply(single, "batch", {"samples": values["batch"]})
        np.testing.assert_allclose(row, step_row(predict(single)), rtol=1e-9, atol=1e-9)


def test_the_what_ifs_of_the_last_axis_are_checked_once(monkeypatch: pytest.MonkeyPatch):
    calls: list[tuple[str, object]] = []
    applied = Axis.applied

    def counted(line: Axis, value: Value) -> Applied | InputError:
        calls.append((line.name, value))
        return applied(line, value)

    monkeypatch.setattr(Axis, "applied", counted)
    several = design(BASE, {"gpu": ["h100", "h200", "l40s"], "batch": [1, 2, 4, -8]})
    rows = predict_points(several, several.points)
    assert [value for name, value in calls if name == "batch"] == [1, 2, 4, -8]
    assert list(rows.refused) == [3, 7, 11] and len(set(rows.refused.values())) == 1


def test_a_size_on_the_last_axis_belongs_to_the_network_of_each_point():
    """The MLPs have a depth; GPT-2 calls it layers."""
    axes = {"network": ["mlp-tiny", "gpt2", "mlp-wide"], "depth": [2, 4]}
    rows = predict_points(sized := design(BASE, axes), sized.points)
    assert list(rows.refused) == [2, 3]
    assert rows.refused[2] == rows.refused[3] and "no axis 'depth'" in rows.refused[2]
    for point in (0, 1, 4, 5):
        values = sized.values(point)
        network = apply(BASE, "network", {"to": values["network"]})
        single = apply(network, "size", {"parameter": "depth", "value": values["depth"]})
        np.testing.assert_allclose(rows.table[point], step_row(predict(single)), rtol=1e-9)


def test_a_combination_without_an_answer_has_a_reason():
    """GPT-2 has positions for at most 1,024 tokens."""
    long = design(Scenario("gpt2"), {"gpu": ["h100"], "seq": [1024, 4096]})
    rows = predict_points(long, long.points)
    assert list(rows.refused) == [1]
    assert "1024" in rows.refused[1]
    assert np.isnan(rows.table[1, 0]) and rows.table[0, 0] > 0


def test_parts_are_put_together_in_order():
    small = design(BASE, {"batch": [1, 2, 4, 8]})
    whole = predict_points(small, small.points)
    both = summed([predict_points(small, [2, 3]), predict_points(small, [0, 1])])
    assert both.points == [0, 1, 2, 3]
    np.testing.assert_allclose(both.table, whole.table, rtol=1e-14)


def test_a_quotation_that_is_not_closed_is_refused_as_a_row():
    """The value comes from the Python API; commands refuse it before the first row."""
    open_quotation = design(BASE, {"whatifs": ["none", "+remove='gelu"]})
    rows = predict_points(open_quotation, open_quotation.points)
    assert rows.refused == {
        1: "axis 'whatifs': \"+remove='gelu\": No closing quotation: expected what-ifs; close the "
        "quotation"
    }


def refusal(*arguments: object, **options: object) -> str:
    with pytest.raises(InputError) as error:
        design(*arguments, **options)  # pyright: ignore
    return str(error.value)


def test_invalid_designs_are_refused():
    assert refusal(BASE, {}) == (
        "a design without axes: expected at least one; add an axis, such as batch=1:512"
    )
    assert refusal(BASE, {"gpu": []}) == "axis 'gpu' has no values: expected at least one; list it"
    assert refusal(BASE, {"batch": [1, 2]}, sample=3) == (
        "a sample of 3: expected 1 to 2, the number of combinations of the axes; correct it"
    )
    axes = {name: range(4096) for name in ("batch", "seq", "width", "layers", "heads")}
    assert refusal(BASE, axes) == (
        "the axes have 1.15e+18 combinations: expected 1,000,000,000,000,000 at most; shorten an "
        "axis"
    )
