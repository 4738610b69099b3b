"""A symbolic answer equals a fresh trace, or reports that it needed one."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator.errors import InputError
from simulator.schedule.launch_plan import issued
from simulator.symbols import Symbolic
from tests.simulator.conftest import SMALL
from tests.simulator.symbols.symbolic_networks import (
    H200,
    SEQ,
    agree,
    alike,
    check,
    fitted,
    gpt2,
    of,
    trained_llama,
)


def test_traces_of_a_family_share_the_host_work_of_a_fresh_trace() -> None:
    family = trained_llama().family(4, SEQ)
    assert family is not None
    for batch in (4, 7):
        trace = family.at(batch, SEQ)
        fresh = msgspec.structs.replace(trace)  # without values derived for the other trace
        assert (issued(trace, H200).counts == issued(fresh, H200).counts).all()


QUICK = [
    ("mlp-tiny", True, "fp32"), ("llama3-1b", True, "bf16"), ("gpt2", False, "fp16"),
    ("swin-t", False, "autocast"), ("resnet18", True, "fp32"), ("convnet-tiny", True, "autocast"),
    ("dlrm", True, "fp32"), ("lstm", True, "fp32"),
]  # fmt: skip


@pytest.mark.layered(
    5, daily=["convnet-tiny-True-autocast", "lstm-True-fp32", "swin-t-False-autocast"]
)
@pytest.mark.parametrize(("name", "training", "dtype"), QUICK)
def test_any_point_is_a_fresh_trace(name: str, training: bool, dtype: str) -> None:
    shared = {"gpt2": gpt2, "llama3-1b": trained_llama}.get(name)
    symbolic = shared() if shared else fitted(name, training, dtype)
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


def test_padding_to_a_multiple_splits_by_it() -> None:
    def pads(x: Tensor) -> Tensor:
        missing = -x.shape[1] % 48
        return F.pad(x, (0, 0, 0, missing)) if missing else x

    symbolic = Symbolic.fit(of(pads), seq=100)
    assert agree(symbolic, [(5, 48), (5, 96), (5, 97), (2, 1000), (1, 95), (3, 960)]) == [True] * 6


def test_a_branch_on_a_multiple_is_detected() -> None:
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
    assert symbolic.reason_to_retrace(5, 605) is None  # no trace was made at this point
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
    symbolic = gpt2()  # gpt2 has 1024 positions
    assert agree(symbolic, [(3, 1024)]) == [True]
    with pytest.raises(InputError, match="expected seq 1024 at most, got 1025"):
        symbolic.at(3, 1025)


def test_a_sequence_is_given_where_there_is_one() -> None:
    with pytest.raises(
        InputError, match="this network has a sequence: expected its length; give seq"
    ):
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


def test_an_op_of_fixed_size_coincides_with_one_that_varies() -> None:
    # x has 4 channels: with batch 4, both exponentials are of 4 × 4
    symbolic = Symbolic.fit(of(lambda x: (x[:, 0] + 1).exp() + x.new_ones(4, 4).exp().sum()), seq=8)
    counts: list[int] = []
    for point in [(2, 8), (4, 8), (5, 9)]:
        ours = symbolic.at(*point)
        assert alike(ours, symbolic.tracer(*point))
        exponentials = [op.signature for op in ours.ops if op.name == "aten.exp.default"]
        counts.append(len({id(signature) for signature in exponentials}))
    assert counts == [2, 1, 2]


def test_points_share_the_signatures_of_fixed_size() -> None:
    symbolic = Symbolic.fit(of(lambda x: x.exp() + x.new_ones(9).sin().sum()), seq=8)
    sines = [
        next(op.signature for op in symbolic.at(*point).ops if op.name == "aten.sin.default")
        for point in [(2, 8), (4, 8), (5, 9)]
    ]
    assert sines[0] is sines[1] is sines[2]
