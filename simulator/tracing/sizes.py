"""Ops whose result depends on data, and the results assumed for tensors without data.

Each rule takes a size from the user (`sizes={"nonzero": 640}`) or a stated default, and returns the
assumption as a text, which the prediction lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from simulator.networks.known_values import known_value
from simulator.tracing.data_sizes import DataSizes

aten = torch.ops.aten
Assumed = tuple[Any, str | None]
Assume = Callable[..., Assumed]

DATA_DEPENDENT: dict[Any, Assume] = {}
DEFAULT_SHARE = 0.5
"""Share of the elements that a mask is assumed to select."""


def _assume(*packets: Any) -> Callable[[Assume], Assume]:
    def register(function: Assume) -> Assume:
        for packet in packets:
            if packet in DATA_DEPENDENT:
                raise ValueError(f"{packet} already has a rule for its data-dependent size")
            DATA_DEPENDENT[packet] = function
        return function

    return register


def _rows(data: DataSizes, name: str, default: int, why: str) -> tuple[int, str]:
    if user_value := data.user_value(name):
        rows, source = user_value
        return rows, f"{rows} rows, {source}"
    return default, data.assume(name, f"{default} rows: {why}")


def _selected(data: DataSizes, name: str, mask: torch.Tensor) -> tuple[int, str]:
    share, numel = data.masks.share(mask), mask.numel()
    portion = {None: "half", 1.0: "all"}.get(share) or f"{share:.4g}"
    cause = "that two lists of integers differ" if share == 1.0 else "evenly spread routing"
    why = f"{portion} of {numel} elements" + ("" if share is None else f", assuming {cause}")
    share = DEFAULT_SHARE if share is None else share
    return _rows(data, name, max(1, round(numel * share)), why)


def _on_host(tensor: torch.Tensor) -> bool:
    return tensor.device.type != "meta"


@_assume(aten._local_scalar_dense)
def item(data: DataSizes, func: Any, x: torch.Tensor) -> Assumed:
    """`.item()`, `bool(t)`, `int(t)`: 1 by default; the actual value if the tensor is on the CPU,
    or the network computes it from constants."""
    if _on_host(x):
        return func(x), None
    if (known := known_value(x)) is not None:
        return known.item(), None
    user_value = data.user_value("item")
    if user_value is None and x.dtype == torch.bool:
        return data.condition()
    kind = float if x.dtype.is_floating_point else bool if x.dtype == torch.bool else int
    result = kind(user_value[0] if user_value else 1)
    text = f"the value {result}"
    return result, f"{text}, {user_value[1]}" if user_value else data.assume("item", text)


@_assume(aten.nonzero)
def nonzero(data: DataSizes, func: Any, x: torch.Tensor) -> Assumed:
    """Rows of indices, [selected, dims]; int64, in column-major order as on CUDA."""
    if _on_host(x):
        return func(x), None
    rows, taken = _selected(data, "nonzero", x)
    return x.new_empty((x.dim(), rows), dtype=torch.int64).t(), taken


@_assume(aten.masked_select)
def masked_select(data: DataSizes, func: Any, x: torch.Tensor, mask: torch.Tensor) -> Assumed:
    """The selected elements, [selected]."""
    if _on_host(x):
        return func(x, mask), None
    rows, taken = _selected(data, "masked_select", mask)
    return x.new_empty((rows,)), taken


@_assume(aten.index)
def index(
    data: DataSizes, func: Any, x: torch.Tensor, indices: list[torch.Tensor | None]
) -> Assumed:
    """Indexing, where a boolean mask acts as integer indices of the elements that it selects."""
    masks = [i for i in indices if i is not None and i.dtype in (torch.bool, torch.uint8)]
    if _on_host(x) or not masks:
        return func(x, indices), None
    rows, taken = _selected(data, "index", masks[0])
    integer_indices: list[torch.Tensor | None] = []
    for i in indices:
        if i is not None and i.dtype in (torch.bool, torch.uint8):
            integer_indices += [x.new_empty((rows,), dtype=torch.int64)] * i.dim()
        else:
            integer_indices.append(i)
    return func(x, integer_indices), taken


@_assume(aten.index_put, aten.index_put_, aten._index_put_impl_)
def index_put(
    data: DataSizes, func: Any, x: torch.Tensor, indices: Any, *more: Any, **kwargs: Any
) -> Assumed:
    """Writes the selected elements in place: the shape of the result is known.

    Raises RuntimeError, as torch does, if the values of a mask have other trailing dimensions.
    """
    if _on_host(x):
        return func(x, indices, *more, **kwargs), None
    _check_values(x, indices, more[0])
    return (x if "put_" in str(func) else torch.empty_like(x)), None


def _check_values(
    x: torch.Tensor, indices: list[torch.Tensor | None], values: torch.Tensor
) -> None:
    masks = [i for i in indices if i is not None]
    if len(masks) != 1 or masks[0].dtype not in (torch.bool, torch.uint8):
        return
    trailing = x.shape[len(indices) - 1 + masks[0].dim() :] if indices[-1] is not None else ()
    pairs = zip(reversed(trailing), reversed(values.shape), strict=False)
    if any(value not in (1, size) for size, value in pairs):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape [..., {', '.join(map(str, trailing))}]"
        )


@_assume(aten._unique2, aten.unique_consecutive)
def unique(data: DataSizes, func: Any, x: torch.Tensor, *args: Any, **kw: Any) -> Assumed:
    """Distinct values, their inverse and counts; all elements are assumed to be distinct."""
    if _on_host(x):
        return func(x, *args, **kw), None
    rows, taken = _distinct(data, x)
    values = x.new_empty((rows,))
    inverse = x.new_empty(x.shape, dtype=torch.int64)
    return (values, inverse, x.new_empty((rows,), dtype=torch.int64)), taken


@_assume(aten._unique)
def unique_and_inverse(
    data: DataSizes,
    func: Any,
    x: torch.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
) -> Assumed:
    """Distinct values without counts; the gradient of `index_fill` calls this op."""
    if _on_host(x):
        return func(x, sorted, return_inverse), None
    rows, taken = _distinct(data, x)
    inverse = x.new_empty(x.shape if return_inverse else (0,), dtype=torch.int64)
    return (x.new_empty((rows,)), inverse), taken


def _distinct(data: DataSizes, x: torch.Tensor) -> tuple[int, str]:
    return _rows(data, "unique", x.numel(), "all elements assumed to be distinct")


@_assume(aten.repeat_interleave)
def repeat_interleave(
    data: DataSizes, func: Any, repeats: torch.Tensor, *args: Any, **kwargs: Any
) -> Assumed:
    """Indices of repeated rows, [sum of repeats]; one repeat each by default."""
    if _on_host(repeats):
        return func(repeats, *args, **kwargs), None
    output_size = kwargs.get("output_size")
    rows, taken = _rows(
        data, "repeat_interleave", output_size or repeats.numel(), "one repeat each"
    )
    return repeats.new_empty((rows,), dtype=torch.int64), None if output_size else taken


@_assume(aten.bincount)
def bincount(
    data: DataSizes,
    func: Any,
    x: torch.Tensor,
    weights: torch.Tensor | None = None,
    minlength: int = 0,
) -> Assumed:
    """Counts by value, [bins]; `minlength` bins by default."""
    if _on_host(x):
        return func(x, weights, minlength), None
    rows, taken = _rows(data, "bincount", max(1, minlength), "the value of minlength")
    return x.new_empty((rows,), dtype=torch.int64), taken


@_assume(aten.equal)
def equal(data: DataSizes, func: Any, x: torch.Tensor, y: torch.Tensor) -> Assumed:
    """`torch.equal`: true if the shapes agree; a condition if torch compares single booleans."""
    if _on_host(x):
        return func(x, y), None
    if x.dtype == torch.bool and x.dim() == y.dim() == 0:
        return data.condition()
    return x.shape == y.shape, "tensors of equal shape assumed to be equal"


@_assume(aten.allclose)
def allclose(data: DataSizes, func: Any, x: torch.Tensor, y: torch.Tensor, *args: Any) -> Assumed:
    """`torch.allclose`: true, as for two computations of the same values."""
    if _on_host(x):
        return func(x, y, *args), None
    return True, "tensors assumed to be close"


@_assume(aten._nested_tensor_from_mask_left_aligned)
def left_aligned(data: DataSizes, func: Any, x: torch.Tensor, mask: torch.Tensor) -> Assumed:
    """False; `nn.TransformerEncoder` would create nested tensors if the result were True."""
    if _on_host(x):
        return func(x, mask), None
    return False, "padding assumed not to end each row, so that no nested tensor is created"


def host_copy(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Assume | None:
    """The rule for a copy from the GPU to the host, whose data are unknown; None for other
    calls."""
    if func.overloadpacket is aten._to_copy:
        to = kwargs.get("device")
        if to is not None and torch.device(to).type == "cpu" and not _on_host(args[0]):
            return _download
    elif func.overloadpacket is aten.copy_ and _on_host(args[0]) and not _on_host(args[1]):
        return lambda data, func, out, *rest, **kw: (out, "the target's own values")
    return None


def _download(data: DataSizes, func: Any, x: torch.Tensor, **kwargs: Any) -> Assumed:
    """Ones; for counts of a router's choices, integers that are as equal as their sum permits."""
    values = torch.ones(x.shape, dtype=kwargs.get("dtype") or x.dtype)
    count = data.masks.count(x)
    if count is None or x.dtype.is_floating_point:
        return values, f"ones of shape {tuple(x.shape)}"
    each, rest = divmod(round(count * x.numel()), x.numel())
    values.fill_(each).view(-1)[:rest] += 1
    return values, f"{count:.4g} in each element, assuming evenly spread routing"
