"""Controls and help come from signatures and docstrings; what-ifs are parsed and written as
text.
"""

from __future__ import annotations

from typing import Annotated

import pytest

from simulator.analysis.trials import TRIALS
from simulator.errors import InputError
from simulator.scenario.module_pattern import block
from simulator.scenario.parameters import Range
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Applied
from simulator.scenario.trial import Trial
from simulator.whatif import GROUPS, apply, hardware, parse, to_text, whatif, whatifs
from tests.simulator.whatif.conftest import small_scenario


def test_every_whatif_has_help_and_controls():
    registered = whatifs()
    assert {w.group for w in registered} == set(GROUPS)
    assert [w.group for w in registered] == sorted((w.group for w in registered), key=GROUPS.index)
    for w in registered:
        assert w.help.endswith((".", ")")) and "\n" not in w.help
        for p in w.parameters:
            assert p.kind != "choice" or p.choices
            if p.default is not None and p.kind in ("number", "count"):
                assert p.low is not None and p.high is not None
                assert p.low <= p.default <= p.high  # pyright: ignore
    bandwidth = next(w for w in registered if w.name == "bandwidth")
    (times,) = bandwidth.parameters
    assert (times.kind, times.default, times.low, times.high, times.log, times.unit) == (
        "number",
        2.0,
        0.1,
        10,
        True,
        "×",
    )
    assert bandwidth.usage == "+bandwidth=2"


def test_the_function_and_its_name_do_the_same():
    base = small_scenario("mlp-tiny")
    assert hardware.bandwidth(base, times=3.0) == apply(base, "bandwidth", {"times": 3.0})
    assert hardware.bandwidth(base) == apply(base, "bandwidth")


def test_a_second_whatif_of_a_name_and_one_without_help_are_refused():
    def bandwidth(
        resolved: ResolvedScenario, times: Annotated[float, Range(1, 2)] = 1.0
    ) -> ResolvedScenario:
        """Again."""
        return resolved

    def silent(resolved: ResolvedScenario) -> ResolvedScenario:
        return resolved

    with pytest.raises(ValueError, match="'bandwidth' is already a what-if"):
        whatif("hardware")(bandwidth)
    with pytest.raises(ValueError, match="'silent' has no docstring"):
        whatif("hardware")(silent)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("+cuda_graph", "cuda_graph", {}),
        ("cuda-graph", "cuda_graph", {}),
        ("+bandwidth=1.5", "bandwidth", {"times": 1.5}),
        ("+bandwidth=times=1.5", "bandwidth", {"times": 1.5}),
        ("+precision=fp16,modules=layers.*", "precision", {"dtype": "fp16", "modules": "layers.*"}),
        ("+size=depths,value=2:2:6:2", "size", {"parameter": "depths", "value": (2, 2, 6, 2)}),
        ("+training=false", "training", {"on": False}),
    ],
)
def test_commands_are_parsed(text: str, name: str, arguments: dict[str, object]):
    assert parse(text) == (name, arguments)


def test_written_what_ifs_are_parsed_back():
    for trial in TRIALS:
        name, arguments = parse(trial.text)
        spelt = to_text(Applied(name, arguments))  # pyright: ignore
        again = parse(spelt)
        whatif = next(w for w in whatifs() if w.name == name)
        assert whatif.checked(again[1]) == whatif.checked(arguments)
    with pytest.raises(InputError, match="name the argument of 'x'"):
        parse("+precision=fp16,x")


def test_every_whatif_is_tried_or_left_out_with_a_reason():
    for w in whatifs():
        assert bool(w.trials) != bool(w.untried), w.name
        assert {parse(trial.text)[0] for trial in w.trials} <= {w.name}
    assert len(TRIALS) == sum(len(w.trials) for w in whatifs())


def test_trials_without_a_sentence_or_with_a_reason_against_them_are_refused():
    def of_this_test(resolved: ResolvedScenario) -> ResolvedScenario:
        """Do nothing."""
        return resolved

    trial = Trial("+of_this_test", (), "it does nothing", "code")
    for words in ({}, {"sentence": "Do nothing", "untried": "it does nothing"}):
        with pytest.raises(ValueError, match="'of_this_test' has trials: expected a sentence"):
            whatif("launch", trial, **words)(of_this_test)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("layers.*", "layers.0.attention.query", "layers.0"),
        ("layers.*", "layers", None),
        ("layers.1", "layers.10", None),
        ("**.query", "layers.0.attention.query", "layers.0.attention.query"),
        ("**.#", "encoder.layers.3.mlp.0", "encoder.layers.3"),
        ("**.#", "norm", None),
        ("**", "", ""),
        ("lay*", "layers.2", "layers"),
    ],
)
def test_patterns_name_modules(pattern: str, path: str, expected: str | None):
    assert block(pattern, path) == expected
