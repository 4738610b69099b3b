"""Calls that CUDA accepts but tensors without data do not: they are refused by name, or traced
nevertheless."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator import predict
from simulator.costs import works
from simulator.errors import InputError
from simulator.hardware.waits import syncs
from simulator.records import ITEM_BYTES, Trace
from simulator.records import Tensor as Seen
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 4)
DENSE = (
    "expected a dense (strided) tensor, because the size of others depends on their data; "
    "convert it, for example with to_dense()"
)


def run(forward: Any, *inputs: Tensor, **options: Any) -> Trace:
    return trace(Calls(lambda _, *given: forward(*given)), inputs or (X,), **options)


def error_text(forward: Any, *inputs: Tensor) -> str:
    with pytest.raises(InputError) as caught:
        run(forward, *inputs)
    return str(caught.value)


def test_the_gradient_of_mish_is_one_kernel() -> None:
    def forward(x: Tensor) -> Tensor:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            y = torch.nn.functional.mish(leaf)
            return torch.autograd.grad(y, leaf, torch.ones_like(y))[0]

    names = [op.name for op in run(forward).ops]
    assert names[-1] == "aten.mish_backward.default"


def test_sparse_inputs_are_refused_by_their_layout() -> None:
    sparse = torch.eye(3).to_sparse_csr()
    assert (
        error_text(lambda x: x, sparse)
        == f"an input is a sparse_csr tensor of shape [3, 3]: {DENSE}"
    )
    sparse = torch.eye(3).to_sparse_coo()
    assert (
        error_text(lambda x: x, sparse)
        == f"an input is a sparse_coo tensor of shape [3, 3]: {DENSE}"
    )


def test_sparse_buffers_are_refused() -> None:
    network = Calls(lambda m, x: x)
    network.register_buffer("adjacency", torch.eye(3).to_sparse_csr())
    with pytest.raises(InputError) as caught:
        trace(network, (X,))
    assert str(caught.value) == f"Calls holds a sparse_csr tensor of shape [3, 3]: {DENSE}"


def test_sparse_tensors_on_the_way_are_refused() -> None:
    message = error_text(lambda x: torch.sparse_coo_tensor(x.long()[:2], x[0], (4, 4)))
    assert "takes or returns a sparse_coo tensor of shape [4, 4]: " in message


def test_every_dtype_of_torch_has_its_bytes() -> None:
    dtypes = {v for v in vars(torch).values() if isinstance(v, torch.dtype)}
    sizes = {str(d).removeprefix("torch."): d.itemsize for d in dtypes}
    assert {name: ITEM_BYTES.get(name) for name in sizes} == sizes


def test_half_precision_complex_numbers_are_predicted() -> None:
    prediction = predict(Calls(lambda _, x: x.chalf() * 2), (X,))
    assert {op.outputs[0].dtype for op in prediction.trace.ops} == {"complex32"}
    assert prediction.period_s > 0


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: torch.nn.functional.unfold(x.new_empty(0, 3, 4, 4), 2),
        lambda x: x.new_empty(2, 0).unfold(0, 2, 1) + 1,
        lambda x: torch.linalg.vecdot(x.new_empty(0), x.new_empty(0)),
        lambda x: torch.dot(x.new_empty(0), x.new_empty(0)),
    ],
)
def test_empty_tensors_are_predicted(forward: Any) -> None:
    prediction = predict(Calls(lambda _, x: forward(x)), (X,))
    assert 0 < prediction.period_s < 1e-3


class Own(BaseException):
    """A network class that does not derive from any of the usual classes."""


def test_exceptions_of_any_base_are_errors_of_the_network() -> None:
    def fails(x: Tensor) -> Tensor:
        raise Own("gone")

    assert error_text(fails).startswith(
        "Calls.forward failed on inputs (float32[4, 4]): Own: gone ("
    )


def test_more_bytes_than_64_bits_add_up_to_are_refused() -> None:
    huge = torch.empty(2**30, 2**30, device="meta")  # 4·2^60 bytes
    assert error_text(lambda x: x + 1, huge) == (
        "the tensors of the step have 9.22e+18 bytes in total: expected at most 2**60 (1 EiB); "
        "give smaller sizes, or a smaller batch"
    )


def test_counts_of_more_than_64_bits_are_predicted() -> None:
    # 2·2^34·2^15·2^15 = 2^65 FLOPs; 2^34·2^15·2 bytes are 2^50
    wide = torch.empty(2**34, 2**15, device="meta", dtype=torch.bfloat16)
    square = torch.empty(2**15, 2**15, device="meta", dtype=torch.bfloat16)
    prediction = predict(Calls(lambda _, x, y: x @ y), (wide, square))
    assert prediction.period_s > 2**65 / 1e15


def test_an_index_of_no_dimension_is_one_of_one() -> None:
    for forward in (lambda x: x.sum().argmax(), lambda x: x.sum().topk(1)[1]):
        assert run(forward).ops[-1].outputs[0].shape in ((), (1,))


def kept_rows(forward: Any) -> int:
    """The number of rows that a mask [4, 8], computed by `forward`, is assumed to keep."""
    return run(lambda x: forward(x).nonzero(), torch.ones(4, 8)).ops[-1].outputs[0].shape[0]


def test_an_argmax_without_a_dimension_is_one_of_all() -> None:
    # a mask of 4·8: an index along a row equals 3 with a probability of 1/8, an index into all 32
    # with 1/32
    assert kept_rows(lambda x: x.argmax(1, keepdim=True).expand(4, 8) == 3) == 4
    assert kept_rows(lambda x: x.argmax().expand(4, 8) == 3) == 1
    assert kept_rows(lambda x: x.argsort(dim=0, stable=True) == 3) == 8  # one in 4


@pytest.mark.parametrize("name", ["masked_fill", "masked_fill_"])
def test_a_mask_is_filled_with_a_number_on_the_host(name: str) -> None:

    def forward(x: Tensor) -> Tensor:
        return getattr(x.clone(), name)(x > 0, torch.tensor(3.0, device="cpu"))

    op = run(forward, X.to("meta")).ops[-1]
    assert (op.name, op.outputs[0].shape) == (f"aten.{name}.Tensor", (4, 4))
    assert op.inputs[-1] == Seen((), "float32", (), "cpu")


def test_the_value_of_a_filled_mask_has_no_dimension() -> None:
    assert "0-dimensional value tensor, but got tensor with 1 dimension" in error_text(
        lambda x: x.masked_fill(x > 0, x[0])
    )


def test_fp32_groups_are_products_one_by_one() -> None:
    x, y = torch.empty(64, 32), torch.empty(4, 32, 18)
    ends = torch.empty(4, dtype=torch.int32)
    traced = run(lambda x, y, ends: torch._grouped_mm(x, y, offs=ends), x, y, ends)
    op = traced.ops[-1]
    # rows of 18 numbers of 4 bytes are padded to 80 bytes, which are 20 numbers
    assert op.outputs[0] == Seen((64, 18), "float32", (20, 1))
    assert syncs(op.signature)
    fetch, *products = works(op.signature) or ()
    assert (fetch.family, fetch.read_bytes) == ("memcpy", 16)
    # four products of 64 / 4 = 16 rows, 2·16·18·32 = 18,432 FLOPs each
    assert [p.flops for p in products] == [18432] * 4


def test_bf16_groups_are_one_kernel() -> None:
    x = torch.empty(64, 32, dtype=torch.bfloat16)
    y = torch.empty(4, 32, 16, dtype=torch.bfloat16)
    ends = torch.empty(4, dtype=torch.int32)
    op = run(lambda x, y, ends: torch._grouped_mm(x, y, offs=ends), x, y, ends).ops[-1]
    assert not syncs(op.signature)
    assert [w.family for w in works(op.signature) or ()] == ["pointwise", "gemm"]


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: F.multi_margin_loss(x, x[:, 0].long()),
        lambda x: F.multilabel_margin_loss(x, x.long()),
        lambda x: F.fractional_max_pool3d(x.expand(1, 4, 4, 4), 2, output_size=2).sum(),
        lambda x: F.ctc_loss(
            x.view(4, 2, 2), x[:2].long(), x[0, :2].long(), x[0, :2].long(), reduction="sum"
        ),
    ],
)
def test_losses_whose_gradient_has_no_rule_in_torch_are_trained(forward: Any) -> None:
    network = Calls(lambda module, x: forward(x @ module.w))
    step = trace(network, (X,), phase="training", optimizer=None)
    assert step.ops[-1].phase == "backward"


@pytest.mark.parametrize("rows", [3, 6])
def test_factors_that_have_no_rule_in_torch(rows: int) -> None:
    def forward(_: Calls, x: Tensor) -> Any:
        return torch.geqrf(x), torch.linalg.lstsq(x, x[..., :2])

    real = torch.randn(2, rows, 4, dtype=torch.float64)
    step = trace(Calls(forward), (real,))
    (factored,) = (op for op in step.ops if op.name == "aten.geqrf.default")
    reflectors, scales = torch.geqrf(real)
    assert [t.shape for t in factored.outputs] == [reflectors.shape, scales.shape]
    assert [t.stride for t in factored.outputs] == [reflectors.stride(), scales.stride()]
    (solved,) = (op for op in step.ops if op.name.startswith("aten.linalg_lstsq"))
    assert solved.outputs[0].shape == torch.linalg.lstsq(real, real[..., :2]).solution.shape
