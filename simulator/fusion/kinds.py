"""The kind of kernel that a compiler generates for an op: a loop, a reduction or a library call."""

from __future__ import annotations

from math import prod

from simulator.costs import COSTS, traits_of
from simulator.costs.compiled_traits import Kind
from simulator.fusion.costed import costed
from simulator.records import Signature

_ELEMENTS = {
    "pointwise", "copy", "concat", "fill", "arange", "gather", "random", "norm_apply", "pool",
    "nll", "embedding_backward", "scatter", "resample", "memcpy",
}  # fmt: skip
_POINTWISE = {"pointwise", "copy", "norm_apply"}
REDUCING_FAMILIES = {
    "norm",
    "softmax",
    "reduction",
    "batch_norm",
    "batch_norm_backward",
    "weight_gradient",
    "norm_input_gradient",
}
_LIBRARY = (
    "scaled_dot_product",
    "_rnn",
    "_thnn_fused",
    "_cdist_",
    "_pdist_",
    "multi_margin_loss_backward",
    "convolution",
    "mm.",
    "bmm",
    "_foreach_",
    "_fused_adam",
    "_fused_sgd",
    "sort",
    "topk",
    "nonzero",
    "multinomial",
    "masked_select",
    "unique",
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d",
    "max_pool3d_with_indices_backward",
    "cudnn_grid_sampler",
    "grid_sampler_2d_backward",
    "grid_sampler_3d",
    "histc",
    "bincount",
    "aten.equal",
    "_linalg_check_errors",
    "upsample_bicubic2d_backward",
    "upsample_bicubic2d_aa",
)


_INDEXED_WRITES = (
    *("scatter", "scatter_add", "scatter_reduce", "index_put", "_unsafe_index_put"),
    *("index_add", "index_copy", "index_fill"),
)
_ADDED = ("float16", "bfloat16", "float32", "float64", "int32")
"""Types of sums for which Inductor generates atomic additions."""
POOLS = ("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d")
_UNROLLED = 25
"""The least elements of a window that a loop does not read one by one: `_max_pool_with_offsets` and
`_avg_poolnd` of torch/_inductor/lowering.py set `unroll_reductions_threshold` to it."""


def kind(op: Signature) -> Kind:
    """The kind of an op; "none" if it launches nothing."""
    if is_indexed_write(op):
        return "pointwise" if in_a_loop(op) or fills_under_mask(op) else "library"
    if op.name == "aten._adaptive_avg_pool2d.default":
        return _kind_of_adaptive_pool(op)
    known = traits_of(op.name.split(".")[1]).kind
    if known is not None and op.name in COSTS:
        return known
    if any(part in op.name for part in _LIBRARY):
        return "library"
    works = costed(op)
    if works is None:
        return "library"
    families = {work.family for work in works}
    if not families:
        return "none"
    if any(tensor.dtype.startswith("complex") for tensor in (*op.inputs, *op.outputs)):
        return "library"  # Inductor generates no code for complex numbers
    if op.name.split(".")[1] in POOLS:
        return _kind_of_pool(op, works[0].dims["taps"])
    if families & REDUCING_FAMILIES:
        return "reduction" if families <= REDUCING_FAMILIES | _ELEMENTS else "library"
    return "pointwise" if families <= _ELEMENTS else "library"


def _kind_of_pool(op: Signature, taps: int) -> Kind:
    """The kind of a pooling. Large windows whose average is taken are a library call if their
    strides differ from their sides."""
    if taps < _UNROLLED:
        return "pointwise"
    apart = op.arg("stride", ()) not in ((), [], op.arg("kernel_size"))
    return "library" if "avg" in op.name and taps > _UNROLLED and apart else "reduction"


def _kind_of_adaptive_pool(op: Signature) -> Kind:
    """The kind of an average over windows of nearly equal sides. It is a pooling if all are equal;
    otherwise a loop reads the largest window for each, unless that is large
    (`_adaptive_avg_pool2d` of torch/_inductor/lowering.py)."""
    sides = list(zip(op["self"].shape[-2:], op.out.shape[-2:], strict=True))
    if all(size % parts == 0 for size, parts in sides):
        return _kind_of_pool(op, prod(size // parts for size, parts in sides))
    largest = prod(-(-(size + parts - 1) // parts) for size, parts in sides)
    return "pointwise" if largest <= _UNROLLED else "library"


def is_pointwise(op: Signature) -> bool:
    """Whether torch tags an op, or all ops that it is composed of, as pointwise (`is_pointwise_use`
    of torch/_inductor/utils.py). A concatenation, a look-up or a pooling is a loop too, but is not
    tagged."""
    works = costed(op)
    if not works or op.name == "aten.native_dropout.default":
        return works is not None
    return {work.family for work in works} <= _POINTWISE


def is_indexed_write(op: Signature) -> bool:
    """Whether an op writes to elements of its input that indices name."""
    return op.name.split(".")[1].removesuffix("_") in _INDEXED_WRITES


def adds(op: Signature) -> bool:
    """Whether an indexed write adds to the old elements."""
    name = op.name.split(".")[1].removesuffix("_")
    reduced = op.arg("reduce", None) in ("add", "sum")
    return name in ("scatter_add", "index_add") or bool(op.arg("accumulate", False)) or reduced


def in_a_loop(op: Signature) -> bool:
    """Whether Inductor generates a loop for an indexed write: one that overwrites, unless a mask
    selects the elements, or one that adds, which it does atomically (`use_scatter_fallback` of
    torch/_inductor/utils.py, `index_put_impl_` of lowering.py, `index_add` of decomposition.py)."""
    if adds(op):
        rows = op.name.startswith("aten.index_add")
        return op.out.dtype in _ADDED and not (rows and op.out.dtype == "bfloat16")
    masked = any(tensor.dtype in ("bool", "uint8") for tensor in op.tensors("indices"))
    return not masked and op.arg("reduce", None) is None


def needs_hopper(op: Signature) -> bool:
    """Whether a GPU of an earlier compute capability than 9.0 leaves an indexed write to ATen
    (`needs_fallback_due_to_atomic_add_limitations` of torch/_inductor/utils.py)."""
    scattered = op.name.startswith("aten.scatter") and op.get("src") is not None
    return op.out.dtype == "bfloat16" and is_indexed_write(op) and (adds(op) or scattered)


def fills_under_mask(op: Signature) -> bool:
    """Whether an indexed write puts one number wherever a mask is true, which Inductor selects for
    each element (`index_put_as_masked_fill` of torch/_inductor/lowering.py)."""
    indices, values = op.tensors("indices"), op.get("values")
    one = len(indices) == 1 and indices[0].dtype in ("bool", "uint8")
    return one and values is not None and values.numel == 1 and not adds(op)


def why_not(op: Signature) -> str:
    """The reason why an op cannot be part of a fused kernel."""
    name = op.name
    if "convolution" in name:
        return "cuDNN runs convolutions"
    if "scaled_dot_product" in name:
        return "attention is already one library kernel"
    if "_transformer_encoder_layer" in name or "_native_multi_head_attention" in name:
        return "torch.compile leaves PyTorch's fast path for inference as one op"
    if "mm." in name:
        return "cuBLAS runs matrix products"
    if ".randint." in name:
        return "the seeds of all random numbers are drawn at once, outside the generated kernels"
    if "_foreach_copy_" in name:
        return "a CUDA graph reads copies of its inputs"
    if "_foreach_" in name or "_fused_" in name:
        return "the optimizer is not in the compiled module"
    if costed(op) is None:
        return "an op without a cost function"
    return "it is neither a loop over elements nor a reduction in a generated kernel"
