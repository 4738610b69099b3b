"""Sizes that follow a window, a share of the tokens or no expression are predicted from the family
or traced."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from simulator.symbols import Symbolic
from simulator.symbols.probes import Tracer
from simulator.tracing import trace
from tests.simulator.conftest import Calls
from tests.simulator.symbols.symbolic_networks import WINDOW, agree, of, tracer


def test_a_loop_over_the_sequence_is_traced_for_each_length() -> None:
    def loops(x: Tensor) -> Tensor:
        for _ in range(x.shape[1]):
            x = x.exp()
        return x

    symbolic = Symbolic.fit(of(loops), seq=12)
    assert agree(symbolic, [(5, 12), (9, 12), (5, 13)]) == [True, True, False]


def test_a_size_without_an_expression_is_traced() -> None:
    symbolic = Symbolic.fit(of(lambda x: x[:, : x.shape[1].bit_length()]), seq=64)
    assert agree(symbolic, [(5, 70)]) == [False]
    reason = symbolic.reason_to_retrace(5, 70) or ""
    assert reason.startswith("batch 5, seq 70: a size is") and reason.endswith(
        "which no expression fits"
    )


def cached(held: Callable[[int], int]) -> Tracer:
    """A network with a sequence and a cache that holds `held(seq)` of its positions."""
    return lambda batch, seq: trace(
        Calls(lambda net, x, cache: (x @ net.w).exp().sum() + cache.exp()),
        (
            torch.empty(batch, seq, 4, device="meta"),
            torch.empty(batch, held(seq), 4, device="meta"),
        ),
    )


def test_a_window_is_answered_on_both_sides() -> None:
    symbolic = Symbolic.fit(cached(lambda seq: min(seq, 100)), seq=64)
    points = [(5, 2), (5, 99), (5, 100), (5, 101), (1, 100), (1, 101), (2, 9000)]
    assert agree(symbolic, points) == [True] * 7
    assert symbolic.failures == []
    (part,) = symbolic.evaluate([5, 5, 5], [99, 100, 4000]).parts
    for column, seq in zip(part.values.T, (99, 100, 4000), strict=True):
        fresh = symbolic.tracer(5, seq)
        assert column[part.family.storages].tolist() == [s.nbytes for s in fresh.storages]


def test_a_cache_of_a_window_is_answered_on_both_sides() -> None:
    symbolic = Symbolic.fit(tracer("gpt-oss-20b-decode", False, "bf16", WINDOW), batch=4, seq=64)
    assert symbolic.failures == []
    points = [(8, 2), (8, 99), (8, 100), (8, 101), (1, 100), (1, 101), (37, 8192)]
    assert agree(symbolic, points) == [True] * 7


def test_a_window_that_differs_near_its_border_is_traced() -> None:
    """The lengths on both sides of a border are traced, because they are the most likely to
    differ."""
    symbolic = Symbolic.fit(cached(lambda seq: 50 if seq == 101 else min(seq, 100)), seq=64)
    assert agree(symbolic, [(5, 101), (5, 99)]) == [False, False]


EXPERTS = dict(width=64, layers=1, heads=4, kv_heads=2, hidden=32, experts=8, top=2, vocab=99)


@pytest.mark.parametrize("training", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_experts_with_a_share_of_the_tokens_are_answered(training: bool) -> None:
    """An expert gets a quarter of the tokens, rounded. With up to five tokens it gets one, and
    shapes of size 1 are left to tracing."""
    few = {"experts": 4, "top": 1}  # a training step has many more ops
    sizes = EXPERTS | few if training else EXPERTS
    symbolic = Symbolic.fit(tracer("mixtral", training, "bf16", sizes), batch=4, seq=64)
    assert symbolic.failures == []
    points = [(2, 3), (3, 3), (1, 6), (1, 7), (1, 10), (6, 1), (7, 9), (33, 1001)]
    assert agree(symbolic, points) == [True] * 8
    assert agree(symbolic, [(2, 2), (1, 5), (5, 1)]) == [False] * 3


def test_a_share_of_the_elements_is_rounded() -> None:
    symbolic = Symbolic.fit(of(lambda x: x[:, :, 0][x[:, :, 0] > 0].exp()), seq=64)
    assert symbolic.failures == []
    assert agree(symbolic, [(3, 3), (5, 3), (7, 101), (9, 64)]) == [True] * 4
