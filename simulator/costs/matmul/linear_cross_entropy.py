"""Linear layer and cross entropy in one op (torch/nn/modules/linear_cross_entropy.py)."""

from __future__ import annotations

from simulator.costs.kernels.launches import pointwise, reduction
from simulator.costs.matmul.products import unit
from simulator.costs.registry import Work, cost
from simulator.records import Signature


@cost(
    "torch_nn._linear_cross_entropy_batch_chunked.default",
    "torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default",
)
def chunked_cross_entropy(op: Signature) -> tuple[Work, ...]:
    """Per chunk of rows: logits, their maximum, exponentials and sums, and the products of the
    requested gradients (torch/nn/modules/linear_cross_entropy.py)."""
    x, weight = op["input"], op["linear_weight"]
    (classes, features), rows = weight.shape, x.numel // max(weight.shape[1], 1)
    chunk = min(rows, int(op.arg("batch_chunk_size", rows)) or rows) or 1
    size = chunk * classes * x.itemsize
    engine, dtype = unit(x.dtype)

    def product(m: int, n: int, k: int) -> Work:
        moved_bytes = (m * k + k * n) * x.itemsize
        return Work(
            "gemm",
            2 * m * n * k,
            moved_bytes,
            m * n * x.itemsize,
            engine,
            dtype,
            m * n * k if engine == "vector" else 0,
            {
                "b": 1,
                "m": m,
                "n": n,
                "k": k,
                "transa": False,
                "transb": True,
                "align_bytes": 4,
                "epilogue": None,
            },
        )

    launches = [
        product(chunk, classes, features),
        reduction(chunk, classes, size, chunk * x.itemsize),
        pointwise(chunk * classes, size, size, slots=8),
        reduction(chunk, classes, size, chunk * x.itemsize),
    ]
    if op.arg("compute_input_grad", False):
        launches.append(product(chunk, features, classes))
    if op.arg("compute_linear_weight_grad", False):
        launches.append(product(classes, features, chunk))
    return tuple(launches) * -(-rows // chunk)
