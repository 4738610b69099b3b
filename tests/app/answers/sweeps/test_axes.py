"""Axes in the notation of the command line."""

import pytest

from app.answers.sweeps.axes import between, line, value_on
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

TINY = Scenario("mlp-tiny")


def test_values_between_two() -> None:
    assert between(1, 16, True) == [1, 2, 4, 8, 16]
    assert between(3, 20, True) == [3, 6, 12, 20]
    assert between(1, 100, True, 3) == [1, 10, 100]
    assert between(0.5, 2, False, 3) == [0.5, 1.0, 2.0]


def test_lines() -> None:
    axis = line(TINY, "batch=1:8")
    assert (axis.values, axis.numeric, axis.label) == ((1, 2, 4, 8), True, "Batch, samples")
    assert line(TINY, "batch=8,2").values == (2, 8)
    assert line(TINY, "+host-speed=0.5:2:3").values == (0.5, 1.0, 2.0)
    cards = line(TINY, "gpu=h100, l4")
    assert (cards.values, cards.numeric, cards.label) == (("h100", "l4"), False, "GPU")
    assert line(TINY, "width=64,128").values == (64, 128)


def test_usual_values_lie_around_the_scenario() -> None:
    assert line(TINY, "batch").values[0] == 1 and 32 in line(TINY, "batch").values
    assert "h200_sxm" in line(TINY, "gpu").values
    assert "fp16" in line(TINY, "precision").values
    assert max(line(Scenario("bert-base"), "seq").values) == 512  # BERT has 512 positions
    assert 1.0 in line(TINY, "bandwidth").values


def test_where_a_scenario_is() -> None:
    assert value_on(Scenario("mlp-tiny", batch=4), "batch") == 4
    assert value_on(apply(TINY, "batch", {"samples": 6}), "batch") == 6
    assert value_on(TINY, "bandwidth") == 1.0
    assert value_on(apply(TINY, "bandwidth", {"times": 2}), "bandwidth") == 2
    assert value_on(apply(TINY, "size", {"parameter": "width", "value": 64}), "width") == 64
    assert value_on(TINY, "width") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("batch=", "axis 'batch=': no values: expected at least one"),
        ("batch=x", "axis 'batch=x': 'x' is not a number: expected one, such as batch=1:512"),
        ("batch=1.5", "axis 'batch=1.5': 1.5: expected a whole number; round it"),
        ("batch=0", "axis 'batch=0': 0: expected 1 to"),
        ("batch=8:2", "axis 'batch=8:2': from 8 to 2: expected a positive number, then a larger"),
        ("batch=1:2:3:4", "axis 'batch=1:2:3:4': expected LOW:HIGH or LOW:HIGH:POINTS"),
        ("batch=1:8:x", "axis 'batch=1:8:x': 'x' points: expected 2 to 4096"),
        (
            f"batch=1:8:{'9' * 5000}",
            f"axis 'batch=1:8:{'9' * 50}…': '{'9' * 60}…' points: expected",
        ),
        (f"batch={'9' * 5000}", f"axis 'batch={'9' * 54}…': {'9' * 60}…: expected a whole number"),
        ("batch=2,2", "axis 'batch=2,2': duplicate value: expected each value once; remove one"),
        ("bandwidth=nan", "axis 'bandwidth=nan': nan: expected 0.1 to 10"),
        ("nonsense", "no axis 'nonsense' for mlp-tiny: expected "),
        (
            "dtype=bf16",
            "no axis 'dtype' for mlp-tiny: did you mean 'precision' or 'weights' or 'kv_cache'? ",
        ),
        ("remove", "axis 'remove' has no default values: expected values, such as remove=A,B"),
    ],
)
def test_invalid_axes_are_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        line(TINY, text)
    assert str(caught.value).startswith(reason)
