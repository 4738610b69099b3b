"""Ops whose result depends on data: what is assumed where a tensor has no data.

Each takes a size from the user (`sizes={"nonzero": 640}`) or a stated default, and says which it
took; the answer lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from simulator.tracing.breaks import place_of
from simulator.tracing.masks import Masks

aten = torch.ops.aten
Assumed = tuple[Any, str | None]
Assume = Callable[..., Assumed]

DATA_DEPENDENT: dict[Any, Assume] = {}
DEFAULT_SHARE = 0.5
"""Share of the elements that a mask is assumed to keep."""


def _assume(*packets: Any) -> Callable[[Assume], Assume]:
    def register(function: Assume) -> Assume:
        for packet in packets:
            if packet in DATA_DEPENDENT:
                raise ValueError(f"{packet} has a rule for its data-dependent size already")
            DATA_DEPENDENT[packet] = function
        return function

    return register


@dataclass
class Known:
    """What the user gave, by an op's name ("item", or "item@nets.py:31" for those of one line), and
    what the ops before tell of masks. `assumed` is what was taken for others, by name and place."""

    sizes: Mapping[str, int]
    masks: Masks
    assumed: dict[str, str] = field(default_factory=dict[str, str])

    def given(self, name: str) -> tuple[int, str] | None:
        """The user's value for the op that runs now, and how it was given; None without one."""
        place = place_of(sys._getframe(1))
        for key, how in ((f"{name}@{place}", f"as given for {place}"), (name, "as given")):
            if key in self.sizes:
                return self.sizes[key], how
        return None

    def assume(self, name: str, taken: str) -> str:
        """Keep what is taken for the op that runs now, by its place; returns it."""
        self.assumed[f"{name}@{place_of(sys._getframe(1))}"] = taken
        return taken

    def remedy(self) -> str:
        """How to give other values than those that were assumed; "" where none were."""
        if not self.assumed:
            return ""
        shown = [f"{key} as {taken}" for key, taken in [*self.assumed.items()][-_SHOWN:]]
        key = next(reversed(self.assumed))
        return (
            f", so this was assumed: {'; '.join(shown)}. Where that contradicts the network give "
            f"another: --data-size {key}=N, or sizes={{{key!r}: N}} in Python"
        )


_SHOWN = 3  # assumptions, the last ones before an error


def _rows(known: Known, name: str, default: int, why: str) -> tuple[int, str]:
    if found := known.given(name):
        return found[0], f"{found[0]} rows, {found[1]}"
    return default, known.assume(name, f"{default} rows: {why}")


def _kept(known: Known, name: str, mask: torch.Tensor) -> tuple[int, str]:
    share, numel = known.masks.share(mask), mask.numel()
    why = f"half of {numel} elements"
    if share is not None:
        why = f"{share:.4g} of {numel} elements, as the choice that made the mask spreads evenly"
    share = DEFAULT_SHARE if share is None else share
    return _rows(known, name, max(1, round(numel * share)), why)


def _on_host(tensor: torch.Tensor) -> bool:
    return tensor.device.type != "meta"


@_assume(aten._local_scalar_dense)
def item(known: Known, func: Any, x: torch.Tensor) -> Assumed:
    """`.item()`, `bool(t)`, `int(t)`: 1 unless told otherwise; a real value on the CPU."""
    if _on_host(x):
        return func(x), None
    found = known.given("item")
    value = found[0] if found else 1
    result = float(value) if x.dtype.is_floating_point else value
    result = bool(value) if x.dtype == torch.bool else result
    text = f"the value {result}"
    return result, f"{text}, {found[1]}" if found else known.assume("item", text)


@_assume(aten.nonzero)
def nonzero(known: Known, func: Any, x: torch.Tensor) -> Assumed:
    """Rows of indices, [kept, dims]; int64, laid out column by column as CUDA does."""
    if _on_host(x):
        return func(x), None
    rows, taken = _kept(known, "nonzero", x)
    return x.new_empty((x.dim(), rows), dtype=torch.int64).t(), taken


@_assume(aten.masked_select)
def masked_select(known: Known, func: Any, x: torch.Tensor, mask: torch.Tensor) -> Assumed:
    """The kept elements, [kept]."""
    if _on_host(x):
        return func(x, mask), None
    rows, taken = _kept(known, "masked_select", mask)
    return x.new_empty((rows,)), taken


@_assume(aten.index)
def index(known: Known, func: Any, x: torch.Tensor, indices: list[torch.Tensor | None]) -> Assumed:
    """Indexing; a boolean mask stands for as many integer indices as it keeps."""
    masks = [i for i in indices if i is not None and i.dtype in (torch.bool, torch.uint8)]
    if _on_host(x) or not masks:
        return func(x, indices), None
    rows, taken = _kept(known, "index", masks[0])
    taken_indices: list[torch.Tensor | None] = []
    for i in indices:
        if i is not None and i.dtype in (torch.bool, torch.uint8):
            taken_indices += [x.new_empty((rows,), dtype=torch.int64)] * i.dim()
        else:
            taken_indices.append(i)
    return func(x, taken_indices), taken


@_assume(aten.index_put, aten.index_put_, aten._index_put_impl_)
def index_put(known: Known, func: Any, x: torch.Tensor, *args: Any, **kwargs: Any) -> Assumed:
    """Writes in place whatever the mask keeps: the result's shape is known."""
    if _on_host(x):
        return func(x, *args, **kwargs), None
    return (x if "put_" in str(func) else torch.empty_like(x)), None


@_assume(aten._unique2, aten.unique_consecutive)
def unique(known: Known, func: Any, x: torch.Tensor, *args: Any, **kw: Any) -> Assumed:
    """Distinct values, their inverse and counts; all elements are taken to be distinct."""
    if _on_host(x):
        return func(x, *args, **kw), None
    rows, taken = _rows(known, "unique", x.numel(), "all elements taken as distinct")
    values = x.new_empty((rows,))
    inverse = x.new_empty(x.shape, dtype=torch.int64)
    return (values, inverse, x.new_empty((rows,), dtype=torch.int64)), taken


@_assume(aten.repeat_interleave)
def repeat_interleave(
    known: Known, func: Any, repeats: torch.Tensor, *args: Any, **kwargs: Any
) -> Assumed:
    """Indices of repeated rows, [sum of repeats]; one repeat each unless told otherwise."""
    if _on_host(repeats):
        return func(repeats, *args, **kwargs), None
    given = kwargs.get("output_size")
    rows, taken = _rows(known, "repeat_interleave", given or repeats.numel(), "one repeat each")
    return repeats.new_empty((rows,), dtype=torch.int64), None if given else taken


@_assume(aten.bincount)
def bincount(
    known: Known,
    func: Any,
    x: torch.Tensor,
    weights: torch.Tensor | None = None,
    minlength: int = 0,
) -> Assumed:
    """Counts by value, [bins]; `minlength` bins unless told otherwise."""
    if _on_host(x):
        return func(x, weights, minlength), None
    rows, taken = _rows(known, "bincount", max(1, minlength), "as many as minlength asks")
    return x.new_empty((rows,), dtype=torch.int64), taken


@_assume(aten.equal)
def equal(known: Known, func: Any, x: torch.Tensor, y: torch.Tensor) -> Assumed:
    """`torch.equal`: true where the shapes agree."""
    if _on_host(x):
        return func(x, y), None
    return x.shape == y.shape, "tensors of equal shape taken as equal"


@_assume(aten.allclose)
def allclose(known: Known, func: Any, x: torch.Tensor, y: torch.Tensor, *args: Any) -> Assumed:
    """`torch.allclose`: true, as of two ways to the same values."""
    if _on_host(x):
        return func(x, y, *args), None
    return True, "tensors taken as close"


def host_copy(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Assume | None:
    """The rule for a copy from the GPU to the host, which has no data to copy; else None."""
    if func.overloadpacket is aten._to_copy:
        to = kwargs.get("device")
        if to is not None and torch.device(to).type == "cpu" and not _on_host(args[0]):
            return _download
    elif func.overloadpacket is aten.copy_ and _on_host(args[0]) and not _on_host(args[1]):
        return lambda known, func, out, *rest, **kw: (out, "the target's own values")
    return None


def _download(known: Known, func: Any, x: torch.Tensor, **kwargs: Any) -> Assumed:
    values = torch.ones(x.shape, dtype=kwargs.get("dtype") or x.dtype)
    return values, f"ones of shape {tuple(x.shape)}"
