"""Views, allocations and queries: they cost host time but launch no kernel."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.costs.compiled_traits import LISTED, Traits
from simulator.costs.registry import Work, cost
from simulator.records import Signature

_VIEWS = (
    "view.default", "view.dtype", "_unsafe_view.default", "_reshape_alias.default",
    "t.default", "t_.default", "transpose.int", "transpose_.default", "permute.default",
    "expand.default", "slice.Tensor", "slice_inverse.default", "select.int", "narrow.default",
    "split.Tensor", "split.sizes", "split_with_sizes.default", "unsafe_split.Tensor",
    "unsafe_split_with_sizes.default", "unbind.int", "chunk.default", "unsafe_chunk.default",
    "squeeze.default", "squeeze.dim", "squeeze.dims", "squeeze_.default", "squeeze_.dim",
    "squeeze_.dims", "unsqueeze.default", "unsqueeze_.default", "as_strided.default",
    "as_strided_.default", "detach_.default",
    "lift.default", "lift_fresh.default", "unfold.default", "diagonal.default",
    "view_as_real.default", "view_as_complex.default", "real.default", "imag.default",
    "_conj.default", "_neg_view.default", "swapaxes_.default", "swapdims_.default",
    "movedim.int", "reshape.default", "flatten.using_ints", "unflatten.int", "expand_as.default",
    "view_as.default", "broadcast_to.default", "positive.default", "numpy_T.default",
    "values.default", "indices.default", "_values.default",
    "_indices.default",
)  # fmt: skip

_ALLOCATIONS = (
    "empty_strided.default",
    "empty_permuted.default", "new_empty.default", "new_empty_strided.default", "set_.default",
    "set_.source_Tensor", "set_.source_Storage", "set_.source_Storage_storage_offset",
    "set_.source_Tensor_storage_offset", "resize_.default", "resize_as_.default",
    "_resize_output_.default", "_efficientzerotensor.default",
)  # fmt: skip

_QUERIES = (
    "size.default", "size.int", "stride.default", "stride.int", "storage_offset.default",
    "numel.default", "dim.default", "is_contiguous.default", "is_pinned.default",
    "is_same_size.default", "record_stream.default", "_has_same_storage_numel.default",
    "_assert_scalar.default", "_assert_tensor_metadata.default",
    "_functional_assert_scalar.default",
    "sym_size.default", "sym_size.int", "sym_stride.default", "sym_stride.int",
    "sym_numel.default", "sym_storage_offset.default", "_fused_sdp_choice.default",
    "_debug_has_internal_overlap.default", "is_non_overlapping_and_dense.default",
    "is_coalesced.default", "is_strides_like_format.default", "_make_dual.default",
    "_unpack_dual.default",
)  # fmt: skip


def _aten(names: Iterable[str]) -> list[str]:
    return [f"aten.{name}" for name in names]


@cost("aten.alias.default", "aten.detach.default", traits=Traits(triton="{self}"))
@cost("aten.empty.memory_format", "aten.empty.out", "aten.empty_like.default", traits=LISTED)
@cost(*_aten((*_VIEWS, *_ALLOCATIONS, *_QUERIES)))
def nothing(op: Signature) -> tuple[Work, ...]:
    """No launches, FLOPs or bytes: a view shares its input's memory, and an allocation is the
    host's work."""
    return ()
