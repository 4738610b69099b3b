"""Small networks of the catalogue: figures at many points equal those of a separate trace for
each.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.resolve import resolve
from simulator.scenario.trace_source import trace_resolved
from simulator.simulate.family import Drive, at_points
from simulator.simulate.step_columns import COLUMNS
from simulator.simulate.traces import Step, simulated
from simulator.symbols.family import Family
from simulator.timing.profile import learned
from tests.simulator.conftest import SMALL
from tests.simulator.simulate.test_family import SHARES, family
from tests.simulator.whatif.conftest import small_scenario

SEQ = 16


def quick_family(name: str, training: bool, dtype: str) -> Family:
    """A family from seven traces, or four without a sequence. All odd lengths run the same
    program.
    """
    seq = CATALOGUE[name].seq
    points = (
        [(2, 17), (3, 19), (5, 23), (7, 29), (3, 31), (2, 25), (5, 27)]
        if seq
        else [(2, 1), (3, 1), (5, 1), (7, 1)]
    )
    traces = [
        trace_resolved(
            resolve(
                small_scenario(
                    name, training=training, dtype=dtype, batch=b, seq=s if seq else None
                )
            )
        )
        for b, s in points
    ]
    return Family.fit(points, traces)


def hold(known: Family, name: str, points: int, cards: tuple[str, ...]) -> None:
    """Compare times to a relative error of 1e-12, and shares, which are differences of times
    divided by 1e-6, to 1e-6."""
    draw, seq = random.Random(name), CATALOGUE[name].seq
    # each batch and each sequence occurs twice, so that points share results
    batches = [draw.randint(2, 400) for _ in range(points)] + [64, 64]
    seqs = [draw.randint(17, 31) if seq else 1 for _ in range(points)] + [21 if seq else 1] * 2
    traces = [known.at(*point) for point in zip(batches, seqs, strict=True)]
    drives = [Drive(host(), "eager"), Drive(host().slower(1e-3), "eager")]
    for card in cards:
        there, profile = gpu(card), learned(card)
        table = at_points(known, batches, seqs, there, profile, drives)
        for (figures, refused), drive in zip(table, drives, strict=True):
            steps = [Step(trace, there, drive.host, profile, drive.mode) for trace in traces]
            alone, why = simulated(steps)
            assert not refused and not why
            for column, title in enumerate(COLUMNS):
                share = title in SHARES
                np.testing.assert_allclose(
                    figures[:, column],
                    alone[:, column],
                    rtol=0 if share else 1e-12,
                    atol=1e-6 if share else 0,
                    err_msg=title,
                )


@pytest.mark.layered(5, daily=["convnext-t-True-bf16", "lstm-True-fp32", "t5-base-False-bf16"])
@pytest.mark.parametrize(
    ("name", "training", "dtype"),
    [
        ("gpt2", False, "fp16"), ("t5-base", False, "bf16"), ("convnext-t", True, "bf16"),
        ("dlrm", True, "fp32"), ("lstm", True, "fp32"), ("vit-b16", True, "autocast"),
    ],
)  # fmt: skip
def test_points_of_six_networks_are_their_traces(name: str, training: bool, dtype: str) -> None:
    hold(quick_family(name, training, dtype), name, 6, ("h200",))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "autocast"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_points_of_every_network_are_their_traces(name: str, training: bool, dtype: str) -> None:
    """18 networks · 2 phases · 3 precisions · 12 points · 3 cards = 3,888."""
    base = small_scenario(name, training=training, dtype=dtype)
    known = family(base, SEQ if CATALOGUE[name].seq else None)
    hold(known, name, 10, ("h200", "l40s", "mi300x"))
