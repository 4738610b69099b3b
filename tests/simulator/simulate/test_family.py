"""A family's figures at many points equal those of a separate trace for each point."""

from __future__ import annotations

import dataclasses
import gc
import random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from simulator.analysis.sweep import sweep
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.scenario import trace_source
from simulator.scenario.predict import predict_trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.simulate import family as module
from simulator.simulate.family import Drive, at_points
from simulator.simulate.kernel_classes import KernelClasses
from simulator.simulate.step_columns import COLUMNS, step_row
from simulator.simulate.traces import Step, simulated
from simulator.symbols import Symbolic, instances
from simulator.symbols.family import Family
from simulator.symbols.instances import Grid, Kind, Launched
from simulator.symbols.peaks import peak_bytes
from simulator.symbols.reuse import StepBytes, reuse, tensor_bytes
from simulator.timing.profile import learned
from simulator.whatif import apply, parse
from tests.simulator.whatif.conftest import small_scenario

SHARES = ("compute", "memory", "overhead")


_FITTED: dict[str, Family] = {}


def family(scenario: Scenario, seq: int | None) -> Family:
    """The family for most points of a scenario's network, with caches of its own. The network is
    traced for the first test that asks."""
    key = f"{scenario} {seq}"
    if key not in _FITTED:
        _FITTED[key] = fitted(scenario, seq)
    return dataclasses.replace(_FITTED[key])


def fitted(scenario: Scenario, seq: int | None) -> Family:
    """The family for most points of a scenario's network, with new traces."""
    resolved = resolve(scenario)
    lines = trace_source._families(resolved.request, resolved.gpu)

    def traced(batch: int, length: int) -> Any:
        return lines._tracer(batch, length if seq else None, True)

    symbolic = Symbolic.fit(traced, batch=4, seq=seq, largest_batch=512, largest_seq=64)
    return symbolic.families[0][1]


@pytest.mark.layered(5, daily=["bert-base-more0-16", "mlp-tiny-more2-None"])
@pytest.mark.parametrize(
    ("name", "more", "seq"),
    [
        ("bert-base", dict(dtype="fp16"), 16),
        ("llama3-1b", dict(dtype="bf16", training=True), 16),
        ("mlp-tiny", dict(training=True), None),
        ("resnet18", {}, None),
    ],
)
def test_points_are_their_traces(name: str, more: dict[str, Any], seq: int | None) -> None:
    draw = random.Random(name)
    known = family(small_scenario(name, **more), seq)
    points = [(draw.randint(2, 500), draw.randint(17, 64) if seq else 1) for _ in range(16)]
    traces = [known.at(*p) for p in points]
    own = host()
    for card in ("h200", "v100", "mi300x"):
        there, profile = gpu(card), learned(card)
        drives = [Drive(own, "eager"), Drive(own.slower(0.05), "eager"), Drive(own, "cuda_graph")]
        alone = [
            simulated([Step(t, there, drive.host, profile, drive.mode) for t in traces])
            for drive in drives
        ]
        # the second pass uses results that are cached with the family
        for again in range(2):
            some = points[again:]
            batches, seqs = ([p[axis] for p in some] for axis in (0, 1))
            table = at_points(known, batches, seqs, there, profile, drives)
            for (figures, refused), (every, why) in zip(table, alone, strict=True):
                expected = every[again:]
                assert not refused and not why
                for column, name_ in enumerate(COLUMNS):
                    np.testing.assert_allclose(
                        figures[:, column],
                        expected[:, column],
                        rtol=1e-9,
                        atol=1e-6 if name_ in SHARES else 0,
                    )


def test_a_mode_that_cannot_be_is_refused_at_each_point_with_its_reason() -> None:
    known = family(small_scenario("mlp-tiny"), None)
    drives = [Drive(host(), "graph"), Drive(host(), "eager")]
    refused, predicted = at_points(known, [2, 3], [1, 1], gpu("h200"), learned("h200"), drives)
    assert list(refused[1]) == [0, 1] and "unknown mode 'graph'" in refused[1][0]
    assert np.isnan(refused[0][:, 0]).all() and (refused[0][:, -1] == -1).all()
    assert not predicted[1] and (predicted[0][:, 0] > 0).all()


def test_a_card_that_shares_residuals_has_its_own_times() -> None:
    """The residuals of the points are those of the previous card, unless L2 holds other data."""
    scenario = small_scenario("bert-base", dtype="fp16")
    sheet = gpu("h200")
    cards = [
        sheet,
        replace(sheet, bandwidth_bytes_per_s=2 * sheet.bandwidth_bytes_per_s),
        replace(sheet, l2_bytes=1 << 14),
        gpu("h100"),
    ]
    together = family(scenario, 16)
    batches, seqs, drives = range(2, 40), [32] * 38, [Drive(host(), "eager")]
    for card in cards:
        profile = learned(card.id)
        ((shared, _),) = at_points(together, batches, seqs, card, profile, drives)
        alone = family(scenario, 16)
        ((own, _),) = at_points(alone, batches, seqs, card, profile, drives)
        np.testing.assert_allclose(shared, own, rtol=1e-12)


def test_tf32_of_a_family_is_that_of_its_traces() -> None:
    known = family(small_scenario("bert-base"), 16)
    edit = resolve(
        apply(small_scenario("bert-base", seq=16), "precision", {"dtype": "tf32"})
    ).edits[0]
    edited = edit.of_family(known)  # pyright: ignore
    for point in ((3, 20), (100, 33)):
        ours, expected = edited.at(*point), edit(known.at(*point))
        assert ours == expected and "tf32.addmm.default" in ours.names()


def test_a_sweep_reports_the_traced_points() -> None:
    base = small_scenario("mlp-tiny", sizes=dict(width=48))
    few = sweep(base, {"batch": [1, 2]})
    assert list(few.retraced) == [0, 1] and "too few points" in few.retraced[0]
    many = sweep(base, {"batch": [*range(2, 40)]})
    assert not many.retraced
    assert not sweep(base, {"bandwidth": [1.0, 2.0]}).retraced  # one trace for all


@pytest.mark.layered(5)
@pytest.mark.parametrize(
    ("name", "more", "chosen"),
    [
        ("bert-base", dict(dtype="fp16"), "gelu+addmm"),
        ("llama3-1b", dict(dtype="bf16"), "mul+silu"),
        ("resnet18", dict(dtype="fp16"), "convolution+native_batch_norm+relu_"),
    ],
)
def test_a_point_is_fused_from_the_familys_trace_at_that_point(
    name: str, more: dict[str, Any], chosen: str
) -> None:
    draw = random.Random(name)
    base = small_scenario(name, **more)
    for text in (f"+fuse={chosen}", "+fusion=pointwise", "+fusion=xla", "+fusion=compiled"):
        batches = sorted(draw.sample(range(2, 200), 7))
        swept = sweep(apply(base, *parse(text)), {"batch": batches})
        assert not swept.retraced and not swept.refused
        row = draw.randrange(len(swept))
        there = resolve(swept.scenarios[row])
        fresh = trace_source._run(there.request, there.gpu)
        for edit in there.edits:
            fresh = edit(fresh)
        assert trace_source.trace_resolved(there) == fresh
        expected = step_row(predict_trace(fresh, there))
        ours = [swept.columns[column][row] for column in COLUMNS]
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-6)


def test_cached_points_are_bounded_for_all_families_together() -> None:
    """Otherwise memory would grow for hours, as each of many families fills its own cache."""
    card, profile, drives = gpu("h200"), learned("h200"), [Drive(host(), "eager")]
    families = [family(small_scenario("mlp-tiny", dtype=dtype), None) for dtype in ("fp16", "fp32")]
    firsts: list[float] = []
    for known in families:
        for low in range(2, 42):  # 2 families · 40 lists = 80 lists
            batches = range(low, low + 3)
            ((table, _),) = at_points(known, batches, [1] * 3, card, profile, drives)
            if low == 2:
                firsts.append(table[0, 0])
    assert len(grids_in_memory()) == 64
    for known, first in zip(families, firsts, strict=True):
        ((table, _),) = at_points(known, [2, 3, 4], [1] * 3, card, profile, drives)
        assert table[0, 0] == first
    for size in (20_000, 20_001):  # together more than 2¹⁵
        at_points(families[0], range(2, size), [1] * (size - 2), card, profile, drives)
    assert [grid.sizes.shape[1] for grid in grids_in_memory()] == [19_999]


def test_launches_on_many_classes_of_gpus_are_bounded() -> None:
    """A slider over the number of multiprocessors makes a class of GPUs for each of its
    positions."""
    card, profile, drives = gpu("h200"), learned("h200"), [Drive(host(), "eager")]
    known = family(small_scenario("mlp-tiny", dtype="fp16"), None)

    def launches() -> int:
        gc.collect()
        return sum(isinstance(thing, (Kind, Launched)) for thing in gc.get_objects())

    def asked(units: range) -> list[float]:
        return [
            at_points(known, [2], [1], replace(card, units=count), profile, drives)[0][0][0, 0]
            for count in units
        ]

    first = asked(range(40, 100))
    before = launches()
    asked(range(100, 160))
    assert launches() <= before
    assert asked(range(40, 100)) == first


def grids_in_memory() -> list[Grid]:
    gc.collect()
    return [thing for thing in gc.get_objects() if isinstance(thing, Grid)]


@pytest.mark.parametrize("training", [False, True])
def test_fewer_classes_change_no_bit(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    known = family(small_scenario("llama3-1b", dtype="bf16", training=training), 16)
    sizes = [(b, s) for b in (1, 2, 64, 511) for s in (17, 40, 64)]
    card = gpu("l40s")  # its power limit lowers the clock

    def table() -> bytes:
        instances._KNOWN_GRIDS.clear()
        drives = [Drive(host(), mode) for mode in ("eager", "cuda_graph")]
        batches, seqs = zip(*sizes, strict=True)
        parts = at_points(known, batches, seqs, card, learned(card.id), drives)
        return b"".join(figures.tobytes() for figures, _ in parts)

    monkeypatch.setattr(module, "_LEAST", 3)
    monkeypatch.setattr(module, "_CLASSES", 1)  # 3 points per chunk
    fewer = table()
    monkeypatch.setattr(KernelClasses, "within", lambda self, *limits: self)
    assert table() == fewer


def test_accesses_that_always_miss_l2_are_left_out() -> None:
    known = family(small_scenario("llama3-1b", dtype="bf16", training=True), 16)
    points = known.sizes(np.array([1, 2, 64, 300]), np.array([64, 17, 33, 20]))
    step = StepBytes(tensor_bytes(known, points), peak_bytes(known, points))
    whole = reuse(known, np.ones(len(known.rows), np.bool_))
    classes: list[int] = []
    for l2_bytes in (0.0, 1e5, 2e6, 5e7, 1e15):
        fewer, class_of = whole.within(step, l2_bytes)
        classes.append(len(fewer.number))
        expected = whole.hot_share(step, l2_bytes)
        assert fewer.hot_share(step, l2_bytes)[class_of].tobytes() == expected.tobytes()
    assert classes[0] == len(set(whole.number.tolist()))  # grouped by signature only
    assert classes[0] < classes[2] < classes[-1] == len(whole.number)
