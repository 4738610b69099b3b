"""A symbolic answer equals a fresh trace, or reports that it traced."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.lowering import lower
from simulator.networks.catalogue import CATALOGUE
from simulator.networks.loading.load import load
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.symbols import Symbolic
from simulator.symbols.probes import Tracer
from simulator.tracing import trace
from tests.simulator.conftest import SMALL, Calls

SEQ = 16
H200 = gpu("h200")


WINDOW = dict(width=64, layers=2, heads=4, kv_heads=2, d=16, hidden=32, experts=4, top=2, vocab=99,
              window=100)  # fmt: skip


def tracer(name: str, training: bool, dtype: str, sizes: dict[str, Any] | None = None) -> Tracer:
    """A small network of the catalogue."""
    plain = "fp32" if dtype == "autocast" else dtype
    has_seq = CATALOGUE[name].seq is not None

    def traced(batch: int, seq: int) -> Trace:
        loaded = load(
            name,
            batch=batch,
            seq=seq if has_seq else None,
            dtype=plain,
            training=training,
            sizes=sizes or SMALL[name],
        )
        return trace(
            loaded.module,
            loaded.args,
            loaded.kwargs,
            phase="training" if training else "inference",
            autocast="bf16" if dtype == "autocast" else None,
        )

    return traced


@cache
def gpt2() -> Symbolic:
    """GPT-2, for tests that need any network with a sequence and a last position."""
    return fitted("gpt2", False, "fp16")


def fitted(name: str, training: bool, dtype: str, **limits: Any) -> Symbolic:
    seq = SEQ if CATALOGUE[name].seq else None
    return Symbolic.fit(tracer(name, training, dtype), batch=4, seq=seq, **limits)


def test_traces_of_a_family_share_the_host_work_of_a_fresh_trace() -> None:
    family = fitted("gpt2", True, "fp16").family(4, SEQ)
    assert family is not None
    for batch in (4, 7):
        trace = family.at(batch, SEQ)
        fresh = msgspec.structs.replace(trace)  # without what was derived from the other
        assert (issued(trace, H200).counts == issued(fresh, H200).counts).all()


def kernels(found: Trace) -> list[tuple[str, float, float]]:
    lowered = lower(found, H200)
    each = [(w.family, float(w.flops), float(w.bytes)) for w in lowered.works]
    return [each[k] for k in lowered.work_of]


def alike(ours: Trace, fresh: Trace) -> bool:
    """Whether two traces are equal, including the ops that share signatures. A bool, because an
    assertion would print both traces in full.
    """
    return ours == fresh and ours.signatures[1] == fresh.signatures[1]


def differing(ours: Trace, fresh: Trace) -> list[str]:
    """The first ops that differ, and their differences."""
    fields = fresh.ops[0].__struct_fields__
    return [
        f"{index} {op.name} {name}: {getattr(mine, name)} and {getattr(op, name)}"
        for index, (mine, op) in enumerate(zip(ours.ops, fresh.ops, strict=False))
        for name in fields
        if getattr(mine, name) != getattr(op, name)
    ][:6]


def check(symbolic: Symbolic, draw: random.Random, points: int, longest: int) -> int:
    """Compare at random points. Returns the number of points answered without a trace."""
    answered = 0
    for _ in range(points):
        batch = draw.choice([1, 2, draw.randint(3, 64), draw.randint(65, 4000)])
        seq = draw.choice(
            [1, 2, draw.randint(1, longest), draw.randint(1, longest) // 16 * 16 or 3]
        )
        point = (batch, seq) if symbolic.has_seq else (batch,)
        if symbolic.reason_to_retrace(*point) is not None:
            continue
        answered += 1
        ours, fresh = symbolic.at(*point), symbolic.tracer(batch, seq)
        assert alike(ours, fresh), f"at {point}: {differing(ours, fresh)}"
        assert kernels(ours) == kernels(fresh)
    return answered


# A network of each kind; `test_any_point_of_every_network` has the others.
QUICK = [
    ("mlp-tiny", True, "fp32"), ("llama3-1b", True, "bf16"), ("gpt2", False, "fp16"),
    ("swin-t", False, "autocast"), ("resnet18", True, "fp32"), ("convnet-tiny", True, "autocast"),
    ("dlrm", True, "fp32"), ("lstm", True, "fp32"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "training", "dtype"), QUICK)
def test_any_point_is_a_fresh_trace(name: str, training: bool, dtype: str) -> None:
    symbolic = gpt2() if name == "gpt2" else fitted(name, training, dtype)
    assert symbolic.failures == []
    assert check(symbolic, random.Random(name), 6, longest=512) == 6


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "autocast"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", sorted(set(SMALL)))
def test_any_point_of_every_network(name: str, training: bool, dtype: str) -> None:
    """18 networks · 2 phases · 3 precisions · 8 points = 864."""
    longest = 32 if name == "whisper-encoder" else 512
    symbolic = fitted(name, training, dtype)
    assert symbolic.failures == []
    assert check(symbolic, random.Random(f"{name}{training}{dtype}"), 8, longest) == 8


# -- where the program changes ------------------------------------------------------------------


def of(function: Callable[..., Tensor]) -> Tracer:
    """A network of one function of ids [batch, seq, 4]."""
    return lambda batch, seq: trace(
        Calls(lambda net, x: function(x @ net.w)), (torch.empty(batch, seq, 4, device="meta"),)
    )


def agree(symbolic: Symbolic, points: list[tuple[int, int]]) -> list[bool]:
    """Check that each answer equals a fresh trace. Returns which answers were symbolic."""
    for point in points:
        assert alike(symbolic.at(*point), symbolic.tracer(*point)), f"at {point}"
    return [symbolic.reason_to_retrace(*point) is None for point in points]


def test_padding_to_a_multiple_splits_by_it() -> None:
    def pads(x: Tensor) -> Tensor:
        missing = -x.shape[1] % 48
        return F.pad(x, (0, 0, 0, missing)) if missing else x

    symbolic = Symbolic.fit(of(pads), seq=100)
    assert agree(symbolic, [(5, 48), (5, 96), (5, 97), (2, 1000), (1, 95), (3, 960)]) == [True] * 6


def test_a_branch_on_a_multiple_is_found() -> None:
    symbolic = Symbolic.fit(of(lambda x: x.exp() if x.shape[1] % 8 == 0 else x), seq=64)
    assert agree(symbolic, [(5, 8), (5, 12), (2, 1000), (1, 64), (1, 63)]) == [True] * 5


def test_a_branch_on_length_ends_the_cell() -> None:
    symbolic = Symbolic.fit(of(lambda x: x.exp() if x.shape[1] > 300 else x), seq=100)
    assert agree(symbolic, [(5, 20), (5, 299), (5, 301), (5, 9000)]) == [True, True, False, False]
    assert (
        symbolic.reason_to_retrace(5, 9000)
        == "batch 5, seq 9000 is outside the range that was verified"
    )


def test_a_branch_on_batch_ends_the_cell() -> None:
    symbolic = Symbolic.fit(of(lambda x: x.exp() if x.shape[0] > 40 else x), seq=64)
    assert agree(symbolic, [(40, 20), (41, 20)]) == [True, False]


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
    """A network of a sequence and a cache that holds `held(seq)` positions of it."""
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


def test_a_window_that_differs_beside_its_border_is_traced() -> None:
    """The lengths on both sides of a border are traced, as the likeliest to differ."""
    symbolic = Symbolic.fit(cached(lambda seq: 50 if seq == 101 else min(seq, 100)), seq=64)
    assert agree(symbolic, [(5, 101), (5, 99)]) == [False, False]


EXPERTS = dict(width=64, layers=2, heads=4, kv_heads=2, hidden=32, experts=8, top=2, vocab=99)


@pytest.mark.parametrize("training", [False, True])
def test_experts_with_a_share_of_the_tokens_are_answered(training: bool) -> None:
    """An expert gets a quarter of the tokens, rounded: one token up to five, where the shapes have
    ones, which are left to tracing."""
    symbolic = Symbolic.fit(tracer("mixtral", training, "bf16", EXPERTS), batch=4, seq=64)
    assert symbolic.failures == []
    points = [(2, 3), (3, 3), (1, 6), (1, 7), (1, 10), (6, 1), (7, 9), (33, 1001)]
    assert agree(symbolic, points) == [True] * 8
    assert agree(symbolic, [(2, 2), (1, 5), (5, 1)]) == [False] * 3


def test_a_share_of_the_elements_is_rounded() -> None:
    symbolic = Symbolic.fit(of(lambda x: x[:, :, 0][x[:, :, 0] > 0].exp()), seq=64)
    assert symbolic.failures == []
    assert agree(symbolic, [(3, 3), (5, 3), (7, 101), (9, 64)]) == [True] * 4


def test_numbers_in_arguments_and_words_follow() -> None:
    def scaled(x: Tensor) -> Tensor:
        positive = x[x > 0]  # half of its elements, an assumption that the trace lists
        return positive * (1 / x.shape[1]) + float(x.shape[0]) + x.mean()

    symbolic = Symbolic.fit(of(scaled), seq=64)
    assert agree(symbolic, [(5, 70), (3, 33)]) == [True, True]
    (assumption,) = {a.taken for a in symbolic.at(3, 33).assumptions}
    assert assumption == "198 rows: half of 396 elements"  # 3·33·4 = 396


def test_a_program_met_in_between_is_caught_by_a_look() -> None:
    symbolic = Symbolic.fit(of(lambda x: x.exp() if 601 < x.shape[1] < 609 else x), seq=64)
    assert symbolic.verify(5, 600)
    assert symbolic.reason_to_retrace(5, 605) is None  # no trace was made there
    assert not symbolic.verify(5, 605)
    assert symbolic.reason_to_retrace(5, 605) == "batch 5, seq 605: a trace at 5 × 605 differed"
    assert agree(symbolic, [(5, 605), (5, 600)]) == [False, False]


def test_counts_of_what_a_process_does_once_are_taken_again() -> None:
    seen: list[int] = []

    def once(x: Tensor) -> Tensor:
        if not seen:
            (lambda: seen.append(1))()
        return x

    symbolic = Symbolic.fit(of(once), seq=64)
    assert agree(symbolic, [(5, 70)]) == [True]


# -- limits and questions -----------------------------------------------------------------------


def test_the_last_position_is_found_and_refused_beyond() -> None:
    symbolic = gpt2()  # 1024 positions
    assert agree(symbolic, [(3, 1024)]) == [True]
    with pytest.raises(InputError, match="expected seq 1024 at most, got 1025"):
        symbolic.at(3, 1025)


def test_a_sequence_is_given_where_there_is_one() -> None:
    with pytest.raises(InputError, match="this network has a sequence: expected its length as seq"):
        Symbolic.fit(of(torch.exp), seq=64).at(3)
    images = fitted("convnet-tiny", False, "fp32")
    with pytest.raises(InputError, match="this network has no sequence: expected no seq"):
        images.at(3, 4)
    assert images.at(3).samples == 3


def test_past_the_largest_batch_it_traces() -> None:
    symbolic = fitted("convnet-tiny", False, "fp32", largest_batch=64)
    assert alike(symbolic.at(65), symbolic.tracer(65, 1))
    assert symbolic.reason_to_retrace(65) == "batch 65 is outside the range that was verified"
    assert symbolic.at(65) is symbolic.at(65)  # and keeps it


def test_many_points_at_once() -> None:
    symbolic = gpt2()
    batches = np.array([1, 2, 3, 64, 3, 5, 99_999])
    seqs = np.array([7, 16, 17, 512, 1, 48, 7])
    evaluated = symbolic.evaluate(batches, seqs)
    assert evaluated.retrace.tolist() == [6]
    assert sorted(p for part in evaluated.parts for p in part.places.tolist()) == [0, 1, 2, 3, 4, 5]
    for family, places, values in evaluated.parts:
        for place, sizes in zip(places, values.T.tolist(), strict=True):
            point = int(batches[place]), int(seqs[place])
            ours = {tuple(sizes[slot] for slot in shape) for shape, _, _, _ in family.tensors}
            fresh = symbolic.tracer(*point)
            assert ours == {t.shape for s in fresh.signatures[0] for t in (*s.inputs, *s.outputs)}


def test_ops_that_coincide_share_a_signature_as_in_a_trace() -> None:
    # at 4 × 4 two products have the same shape, elsewhere different shapes
    symbolic = Symbolic.fit(of(lambda x: x.flatten(0, 1).t() @ x.flatten(0, 1)), seq=64)
    for point in [(4, 4), (2, 2), (5, 9)]:
        assert alike(symbolic.at(*point), symbolic.tracer(*point))
