"""Results whose size or value depends on data, and the assumptions that a trace lists for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator.errors import InputError
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 8)
Forward = Callable[[Calls, Tensor], Any]


def run(forward: Forward, **sizes: int) -> Trace:
    return trace(Calls(forward), (X,), sizes=sizes)


def taken(traced: Trace) -> list[tuple[str, str]]:
    return [(a.name, a.taken) for a in traced.assumptions]


HALF = "16 rows: half of 32 elements"
CASES: list[tuple[str, Forward, str, str, tuple[int, ...]]] = [
    ("nonzero", lambda _, x: x.nonzero(), "aten.nonzero.default", HALF, (16, 2)),
    ("nonzero", lambda _, x: torch.where(x > 0)[0] + 1, "aten.nonzero.default", HALF, (16,)),
    ("index", lambda _, x: x[x > 0], "aten.index.Tensor", HALF, (16,)),
    ("masked_select", lambda _, x: torch.masked_select(x, x > 0), "aten.masked_select.default",
     HALF, (16,)),
    ("unique", lambda _, x: x.unique() + 1, "aten._unique2.default",
     "32 rows: all elements assumed to be distinct", (32,)),
    ("unique", lambda _, x: torch.unique_consecutive(x) + 1, "aten.unique_consecutive.default",
     "32 rows: all elements assumed to be distinct", (32,)),
    ("repeat_interleave", lambda _, x: x.repeat_interleave((x[:, 0] > 0).long(), 0),
     "aten.repeat_interleave.Tensor", "4 rows: one repeat each", (4, 8)),
    ("bincount", lambda _, x: torch.bincount(x[0].long(), minlength=5), "aten.bincount.default",
     "5 rows: the value of minlength", (5,)),
]  # fmt: skip


@pytest.mark.parametrize(("size", "forward", "op", "text", "shape"), CASES)
def test_a_default_is_assumed_and_listed(
    size: str, forward: Forward, op: str, text: str, shape: tuple[int, ...]
) -> None:
    traced = run(forward)
    assert taken(traced) == [(op, text)]
    assert traced.ops[traced.assumptions[0].op].name == op
    assert traced.ops[-1].outputs[0].shape == shape


@pytest.mark.parametrize(("size", "forward", "op", "text", "shape"), CASES)
def test_a_size_of_the_user_is_taken(
    size: str, forward: Forward, op: str, text: str, shape: tuple[int, ...]
) -> None:
    traced = run(forward, **{size: 7})
    assert taken(traced) == [(op, "7 rows, as given")]
    assert traced.ops[-1].outputs[0].shape == (7, *shape[1:])


def test_item_is_one_or_the_users_value() -> None:
    op = "aten._local_scalar_dense.default"
    assert taken(run(lambda _, x: x * x.sum().item())) == [(op, "the value 1.0")]
    assert taken(run(lambda _, x: x * x.sum().item(), item=3)) == [(op, "the value 3.0, as given")]
    repeated = run(lambda _, x: [x + 1 for _ in range(int(x[0, 0].long()))], item=3)
    assert repeated.names().count("aten.add.Tensor") == 3


def test_a_branch_on_a_tensor_is_taken() -> None:
    def branch(_: Calls, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x.cos()
        return x.sin()

    op = "aten._local_scalar_dense.default"
    yes, no = run(branch), run(branch, item=0)
    assert taken(yes) == [(op, "the value True")]
    assert taken(no) == [(op, "the value False, as given")]
    assert (yes.names()[-1], no.names()[-1]) == ("aten.cos.default", "aten.sin.default")


@pytest.mark.parametrize("forward", [lambda _, x: x.cpu() + 1, lambda _, x: x.to("cpu") + 1])
def test_a_copy_to_the_host_is_ones_there(forward: Forward) -> None:
    traced = run(forward)
    assert taken(traced) == [("aten._to_copy.default", "ones of shape (4, 8)")]
    copy, add = traced.ops
    assert copy.inputs[0].device == "cuda" and copy.outputs[0].device == "cpu"
    assert {t.device for t in (*add.inputs, *add.outputs)} == {"cpu"}


def test_tolist_is_a_copy_to_the_host() -> None:
    traced = run(lambda _, x: [x * value for value in x[0, :3].tolist()])
    assert ("aten._to_copy.default", "ones of shape (3,)") in taken(traced)
    assert traced.names().count("aten.mul.Tensor") == 3


def test_equal_shapes_are_taken_as_equal() -> None:
    traced = run(lambda _, x: x if torch.equal(x, x) else x.cos())
    assert taken(traced) == [("aten.equal.default", "tensors of equal shape assumed to be equal")]
    assert traced.names() == ["aten.equal.default"]


def test_a_write_under_a_mask_has_a_known_shape() -> None:
    def write(_: Calls, x: Tensor) -> Tensor:
        y = x.clone()
        y[x > 0] = 1.0
        return y

    traced = run(write)
    assert traced.names()[-1] == "aten.index_put_.default" and traced.assumptions == []


def test_an_index_without_a_mask_assumes_nothing() -> None:
    traced = run(lambda _, x: x[torch.arange(3, device=x.device)])
    assert traced.ops[-1].outputs[0].shape == (3, 8) and traced.assumptions == []


def test_a_mask_can_be_trained_through() -> None:
    module = Calls(lambda self, x: (x @ self.w)[x[:, :4] > 0])
    traced = trace(module, (torch.ones(4, 4),), phase="training", optimizer=None)
    assert [a.taken for a in traced.assumptions] == ["8 rows: half of 16 elements"]


def test_the_gradient_of_a_filled_value_takes_distinct_indices() -> None:
    module = Calls(lambda self, x: x.index_fill(0, torch.arange(3, device=x.device), self.w.sum()))
    traced = trace(module, (X,), phase="training", optimizer=None)
    assert taken(traced) == [
        ("aten._unique.default", "3 rows: all elements assumed to be distinct")
    ]
    unique = next(op for op in traced.ops if op.name == "aten._unique.default")
    # on CUDA, the inverse is empty where it is not requested
    assert [t.shape for t in unique.outputs] == [(3,), (0,)]


def test_a_real_value_on_the_cpu_is_not_an_assumption() -> None:
    traced = run(lambda _, x: x * torch.tensor(5).item())
    assert traced.assumptions == []
    assert traced.ops[-1].signature.arg("other") == 5


def test_random_numbers_are_no_assumption() -> None:
    assert run(lambda _, x: x + torch.rand_like(x)).assumptions == []


EVENLY = "assuming evenly spread routing"


def test_a_router_sends_its_tokens_evenly() -> None:
    def routed(_: Calls, x: Tensor) -> Tensor:
        chosen = x.topk(2, dim=-1).indices  # 8 choices, each from 8 columns
        return torch.where(chosen == 3)[0] + 1

    assert taken(run(routed)) == [
        ("aten.nonzero.default", f"1 rows: 0.125 of 8 elements, {EVENLY}")
    ]


def test_one_hot_masks_keep_one_class_each() -> None:
    """As in mixtures of experts: the experts that have tokens, and the tokens of an expert."""

    def routed(_: Calls, x: Tensor) -> Tensor:
        mask = F.one_hot(x.argmax(-1), 8).t()  # 8 classes for 4 rows
        busy = torch.greater(mask.sum(dim=-1), 0).nonzero()
        return torch.where(mask[2])[0] + busy[0]

    traced = run(routed)
    assert [o.name for o in traced.ops[:4]] == [
        "aten.argmax.default",
        "aten.zeros.default",
        "aten.unsqueeze.default",
        "aten.scatter_.value",
    ]
    any_of_four = 1 - (7 / 8) ** 4  # 0.4138
    assert taken(traced) == [
        ("aten.nonzero.default", f"{round(8 * any_of_four)} rows: 0.4138 of 8 elements, {EVENLY}"),
        ("aten.nonzero.default", f"1 rows: 0.125 of 4 elements, {EVENLY}"),
    ]


def test_the_opposite_of_a_mask_keeps_the_rest() -> None:
    def rest(_: Calls, x: Tensor) -> Tensor:
        return x[:, :2][~(x.topk(2, dim=-1).indices == 3)]

    assert taken(run(rest)) == [("aten.index.Tensor", f"7 rows: 0.875 of 8 elements, {EVENLY}")]


def test_the_ends_of_edges_differ() -> None:
    """As in a graph network that removes the edges from a node to itself."""

    def edges(_: Calls, x: Tensor) -> Tensor:
        start, end = x[:, :2].long().unbind(1)
        return x[start != end]

    assumed = "4 rows: all of 4 elements, assuming that two lists of integers differ"
    assert taken(run(edges)) == [("aten.index.Tensor", assumed)]
    same = run(lambda _, x: x[x[:, 0].long() != 3])
    assert taken(same) == [("aten.index.Tensor", "2 rows: half of 4 elements")]


def test_a_value_that_contradicts_the_network_is_named_by_its_place() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        return x.view(int(x.sum()), 8)

    place = f"test_data_dependent.py:{forward.__code__.co_firstlineno + 1}"
    with pytest.raises(InputError) as caught:
        run(forward)
    assert str(caught.value).endswith(
        f"so this was assumed: item@{place} as the value 1.0. If this contradicts the network, "
        f"give another value: --data-size item@{place}=N, or sizes={{'item@{place}': N}} in Python"
    )
    assert run(forward, **{f"item@{place}": 4}).ops[-1].outputs[0].shape == (4, 8)


def test_values_differ_by_place() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        rows = int(x.sum())
        return x.new_empty(rows, int(x.max()))

    line = forward.__code__.co_firstlineno + 1
    traced = run(forward, **{f"item@test_data_dependent.py:{line}": 7, "item": 3})
    assert traced.ops[-1].outputs[0].shape == (7, 3)
    assert [a.taken for a in traced.assumptions] == [
        f"the value 7.0, as given for test_data_dependent.py:{line}",
        "the value 3.0, as given",
    ]


def test_close_tensors_are_taken_as_close() -> None:
    traced = run(lambda _, x: x + 1 if torch.allclose(x, x * 2) else x)
    assert taken(traced) == [("aten.allclose.default", "tensors assumed to be close")]
    assert traced.ops[-1].name == "aten.add.Tensor"


def test_the_sizes_of_experts_add_up_to_their_tokens() -> None:
    """16 choices among 3 experts, as a network splits its tokens: 6, 5 and 5 of them."""

    def split(w: Calls, x: Tensor) -> list[Tensor]:
        chosen = x[:, :3].topk(2, dim=-1).indices
        gates = torch.zeros(8, 3, device=x.device).scatter(1, chosen, 1)
        parts = x.repeat(2, 1).split(gates.long().sum(0).tolist())
        return [torch.relu(part) for part in parts]

    traced = trace(Calls(split), (torch.ones(8, 8),))
    assert [op.outputs[0].shape[0] for op in traced.ops[-3:]] == [6, 5, 5]
    assert [a.taken for a in traced.assumptions] == [f"5.333 in each element, {EVENLY}"]


def test_a_condition_that_ends_in_an_error_is_false() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        if (x < 0).any():
            raise ValueError("negative")
        return x + 1 if x.sum() > 0 else x

    text = "the value False, because the network fails or does not end if it is True"
    name = "aten._local_scalar_dense.default"
    assert taken(run(forward)) == [(name, text), (name, "the value True")]


def test_a_condition_of_the_user_is_not_changed() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        if (x < 0).any():
            raise ValueError("negative")
        return x

    with pytest.raises(InputError, match="ValueError: negative"):
        run(forward, item=1)
    assert taken(run(forward, item=0))[0][1] == "the value False, as given"


def test_an_error_that_no_condition_explains_is_the_first_one() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        if (x < 0).any():
            raise ValueError("negative")
        return x.view(7)

    with pytest.raises(InputError, match="ValueError: negative"):
        run(forward)


def test_a_tensor_in_a_text_is_its_value() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        return x * {"expert_1": 2.0}[f"expert_{x.long().sum()}"]

    assert taken(run(forward)) == [("aten._local_scalar_dense.default", "the value 1")]
