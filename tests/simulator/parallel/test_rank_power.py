"""The power and the energy of a step over several GPUs."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist

from app.answers.cluster.words import power_words
from simulator import predict_step
from simulator.hardware.gpu import gpu
from simulator.parallel.prediction import ParallelPrediction
from simulator.timing.energies import energies


def predicted(elements: int, cluster: str = "2xh200", products: int = 0) -> ParallelPrediction:
    """A captured step of products and then an all-reduce of bfloat16 elements."""

    def make(rank: int, world_size: int) -> Callable[[], None]:
        sent = torch.empty(elements, dtype=torch.bfloat16, device="cuda")
        a = torch.empty(8192, 8192, dtype=torch.bfloat16, device="cuda")

        def step() -> None:
            for _ in range(products):
                a @ a
            dist.all_reduce(sent)

        return step

    return predict_step(make, cluster, mode="cuda_graph")


def test_the_power_of_a_collective_is_that_of_its_parts() -> None:
    """256 MiB over two cards: each reads and writes 256 MiB, and sends and receives 256 MiB."""
    p, known = predicted(2**27), energies(gpu("h200_sxm"))
    assert known is not None and p.joules is not None and p.watts is not None
    size, moved_s = 2**28, p.communication_s
    bytes_j = (known.dram_j_per_byte + known.l2_j_per_byte + known.link_j_per_byte) * 2 * size
    each_j = (
        (known.idle_w + known.clocked_w) * p.period_s
        + (known.busy_w + known.collective_w) * moved_s
        + bytes_j
    )
    assert p.joules == pytest.approx(2 * each_j, rel=1e-6)
    assert p.watts == pytest.approx(p.joules / p.period_s)
    assert p.drawn() == p.powers  # and not only once
    assert 500 < p.watts < 650  # 265 W a card were measured at 64 MiB, and 280 W at 512 MiB


def test_cards_at_their_limit_stay_within_it() -> None:
    """Products draw the limit; with an all-reduce between them the clock is higher."""
    alone, both = predicted(2, products=6), predicted(2**28, products=6)
    for p in (alone, both):
        power = p.powers[0]
        assert power is not None and power.limited
        assert power.watts == pytest.approx(0.987 * 700, rel=0.02)
    assert both.powers[0].clock_hz > 1.02 * alone.powers[0].clock_hz  # pyright: ignore


def test_words_of_power() -> None:
    p = predicted(2**27)
    power = p.powers[0]
    assert power is not None
    power = replace(power, watts=200.0, joules=2.0, joules_interval=(1.8, 2.4), limit_w=700.0)
    assert len(p.ranks) == 1 and len(p.ranks[0].ranks) == 2
    known = replace(p, drawn=lambda: [power])
    assert (
        power_words(known) == "400 W on 2 GPUs (limit 1,400 W), 4.00 J a step (80%: 3.6 J to 4.8 J)"
    )
    unknown = replace(p, drawn=lambda: [None])
    assert (unknown.joules, unknown.watts, unknown.joules_interval) == (None, None, None)
    assert power_words(unknown) == "unknown: no power data for H200 SXM 141GB"
