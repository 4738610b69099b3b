"""Layouts of tensors in memory: from the index of an element to its position, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.kernel_source.indices import Index, constant, total
from simulator.kernel_source.sizes import Size, product
from simulator.records import Tensor

At = tuple[Index, ...]
"""An index for each dimension."""


@dataclass(frozen=True)
class Layout:
    """Sizes and strides of a tensor in elements; `offset` is from the beginning of its storage."""

    shape: tuple[Size, ...]
    stride: tuple[Size, ...]
    offset: Size
    dtype: str

    @property
    def cases(self) -> int:
        return len(self.offset.values)

    @property
    def numel(self) -> Size:
        return product(self.shape, self.cases)

    @property
    def dense(self) -> bool:
        """Whether the tensor fills its storage without gaps, in some order of its dimensions."""
        following = product((), self.cases)
        for size, step in self._inner_first():
            if step != following:
                return False
            following *= size
        return self.offset.is_(0)

    @property
    def row_major(self) -> bool:
        """Whether the tensor is dense in the order of its dimensions."""
        steps = [
            step for size, step in zip(self.shape, self.stride, strict=True) if not size.is_(1)
        ]
        return self.dense and steps == sorted(steps, key=lambda s: s.values, reverse=True)

    def _inner_first(self) -> list[tuple[Size, Size]]:
        pairs = [
            (size, step)
            for size, step in zip(self.shape, self.stride, strict=True)
            if not size.is_(1)
        ]
        return sorted(pairs, key=lambda pair: (pair[1].values, pair[0].values))

    def place(self, at: At) -> Index:
        """The place of an element in its storage."""
        steps = (i.times(step) for i, step in zip(at, self.stride, strict=True))
        return total(steps, constant(self.offset))

    def at(self, place: Index) -> At:
        """The element at a place of a dense storage."""
        none = constant(self.offset * 0)
        return tuple(
            none if size.is_(1) else place.over(step).modulo(size)
            for size, step in zip(self.shape, self.stride, strict=True)
        )


def layout(tensors: Sequence[Tensor], offsets: Sequence[int]) -> Layout:
    """The layout of tensors of one rank and dtype, one tensor for each case."""
    shape = zip(*(t.shape for t in tensors), strict=True)
    stride = zip(*(t.stride for t in tensors), strict=True)
    return Layout(
        tuple(map(Size, shape)), tuple(map(Size, stride)), Size(tuple(offsets)), tensors[0].dtype
    )


def digits(number: Index, shape: Sequence[Size]) -> At:
    """The index of the element with this number in row-major order."""
    cases = len(number.constant.values)
    return tuple(
        constant(size - size)
        if size.is_(1)
        else number.over(product(shape[d + 1 :], cases)).modulo(size)
        for d, size in enumerate(shape)
    )


def number(at: At, shape: Sequence[Size], cases: int) -> Index:
    """The number of an element in row-major order."""
    steps = (i.times(product(shape[d + 1 :], cases)) for d, i in enumerate(at))
    return total(steps, constant(Size((0,) * cases)))
