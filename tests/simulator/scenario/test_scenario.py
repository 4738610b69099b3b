"""Scenarios: written to files, read back, and refused if a file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.scenario.scenario import Scenario, load, predict, save
from simulator.scenario.text.file import text
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "asked.toml"
    path.write_text("\n".join(lines), "utf-8")
    return path


HEAD = ('format = "ridgepoint-scenario"', "version = 1", 'network = "mlp-tiny"')


def test_a_scenario_reopens_to_the_same_answer(tmp_path: Path):
    scenario = small_scenario("bert-base", dtype="fp16", host_speed=1.5, seq=16)
    for name, arguments in (
        ("cuda_graph", {}),
        ("bandwidth", {"times": 1 / 3}),
        ("remove", {"op": "gelu"}),
        ("size", {"parameter": "layers", "value": 1}),
    ):
        scenario = apply(scenario, name, arguments)
    path = tmp_path / "a.toml"
    save(scenario, path)
    assert load(path) == scenario
    assert load(path).key == scenario.key
    again = predict(load(path))
    assert (again.period_s, again.shares) == (predict(scenario).period_s, predict(scenario).shares)


def test_the_file_is_plain_to_read():
    scenario = apply(Scenario("bert-base", batch=8, sizes={"layers": 2}), "bandwidth")
    assert text(scenario) == "\n".join(
        [
            'format = "ridgepoint-scenario"',
            "version = 1",
            'network = "bert-base"',
            'gpu = "h200"',
            'mode = "eager"',
            "batch = 8",
            "",
            "[sizes]",
            "layers = 2",
            "",
            "[[whatif]]",
            'name = "bandwidth"',
            "times = 2.0",
            "",
        ]
    )


@given(
    st.builds(
        Scenario,
        st.just("resnet50"),
        gpu=st.sampled_from(["h200", "a100", "l4"]),
        batch=st.none() | st.integers(1, 10**6),
        dtype=st.sampled_from([None, "fp16", "autocast"]),
        training=st.none() | st.booleans(),
        host_speed=st.floats(0.001, 1000),
        sizes=st.dictionaries(
            st.text(min_size=1, max_size=5),
            st.integers()
            | st.booleans()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(codec="utf-8"), max_size=8)
            | st.lists(st.integers(), max_size=3).map(tuple),
            max_size=3,
        ),
    )
)
@settings(max_examples=100, deadline=None)
def test_any_scenario_is_read_back_unchanged(scenario: Scenario):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.toml"
        save(scenario, path)
        assert load(path) == scenario


def test_a_gpu_can_be_given_in_the_file(tmp_path: Path):
    keys = {
        "name": "Mine",
        "memory_gib": 48,
        "bandwidth_gbytes_per_s": 960.0,
        "units": 60,
        "boost_mhz": 2400.0,
        "tensor_tflops": {"bf16": 210.0},
        "vector_tflops": {"fp32": 40.0},
    }
    scenario = small_scenario("mlp-tiny", gpu=keys)
    path = tmp_path / "a.toml"
    save(scenario, path)
    assert load(path) == scenario
    p = predict(load(path))
    assert (p.gpu.name, p.gpu.bandwidth_bytes_per_s) == ("Mine", 960e9)
    with pytest.raises(InputError, match="gpu: unknown key 'colour'"):
        predict(small_scenario("mlp-tiny", gpu=keys | {"colour": 1}))
    with pytest.raises(InputError, match="gpu: no peak"):
        predict(
            small_scenario("mlp-tiny", gpu={k: v for k, v in keys.items() if "tflops" not in k})
        )


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((*HEAD, "bacth = 3"), "unknown key 'bacth': did you mean 'batch'"),
        ((*HEAD, "colour = 3"), "unknown key 'colour': expected one of format, version"),
        ((HEAD[0], "version = 2", HEAD[2]), "has scenario version 2: expected 1"),
        ((HEAD[0], HEAD[1]), "'network' is missing: expected format"),
        (HEAD[1:], "'format' is missing"),
        ((*HEAD, 'batch = "many"'), "batch is 'many': expected"),
        ((*HEAD, "batch = 0"), "batch is 0: expected 1 or more"),
        ((*HEAD, 'gpu = "h900"'), "unknown GPU 'h900'"),
        ((*HEAD, 'dtype = "fp17"'), "unknown dtype 'fp17'"),
        ((*HEAD, "host_speed = -1.0"), "host_speed is -1.0: expected 0.001 to 1000"),
        ((*HEAD, "[[whatif]]", "times = 2.0"), r"a \[\[whatif\]\] has no name"),
        ((*HEAD, "[[whatif]]", 'name = "magic"'), "unknown what-if 'magic'"),
        ((*HEAD, "[[whatif]]", 'name = "bandwidth"', "times = -2.0"), "times is -2.0: expected"),
        ((*HEAD, "[[whatif]]", 'name = "bandwidth"', "by = 2.0"), "no argument 'by'"),
        ((*HEAD, "[[whatif]]", 'name = "fp8"', "[sizes"), "not TOML"),
        ((*HEAD, 'gpu = "a100"', "[[whatif]]", 'name = "fp8"'), "has no float8"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(
    tmp_path: Path, lines: tuple[str, ...], expected: str
):
    path = written(tmp_path, *lines)
    with pytest.raises(InputError, match=expected) as error:
        load(path)
    assert str(path) in str(error.value)


def test_a_missing_or_too_large_file_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match=r"cannot read the scenario .*: No such file"):
        load(tmp_path / "none.toml")
    path = written(tmp_path, *HEAD, "#" * 70_000)
    with pytest.raises(InputError, match="too large"):
        load(path)
    with pytest.raises(InputError, match="cannot write the scenario"):
        save(Scenario("mlp-tiny"), tmp_path / "no" / "folder.toml")


def test_undo_drops_the_last_whatif():
    once = apply(small_scenario("mlp-tiny"), "cuda_graph")
    twice = apply(once, "bandwidth")
    assert twice.undo() == once
    assert twice.baseline == small_scenario("mlp-tiny")
    with pytest.raises(InputError, match="nothing to undo"):
        small_scenario("mlp-tiny").undo()
