"""Indices against numpy: the simplified expression selects the element of the view."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.kernel_source.indices import Index, constant, variable
from simulator.kernel_source.layouts import Layout, digits, layout, number
from simulator.kernel_source.sizes import Names, Size
from simulator.records import Tensor, row_major


def _size(*values: int) -> Size:
    return Size(values)


def _text(index: Index) -> str:
    return index.text(Names())


INDEX = variable("i", _size(24))


def test_quotient_and_remainder_of_a_sum() -> None:
    # (12·i + 3) // 4 = 3·i + 3 // 4 = 3·i
    assert _text((INDEX.times(_size(12)).plus(_size(3))).over(_size(4))) == "i * 3"
    assert _text((INDEX.times(_size(12)).plus(_size(3))).modulo(_size(4))) == "3"
    # i < 24, so i // 24 = 0 and i % 24 = i
    assert _text(INDEX.over(_size(24))) == "0" and INDEX.modulo(_size(24)) == INDEX
    # (2·i) % 6 = 2·(i % 3), and (i // 2) // 3 = i // 6
    assert _text(INDEX.times(_size(2)).modulo(_size(6))) == "(i % 3) * 2"
    assert INDEX.over(_size(2)).over(_size(3)) == INDEX.over(_size(6))


def test_digits_put_together_are_the_number_again() -> None:
    shape = (_size(2), _size(3), _size(4))
    assert number(digits(INDEX, shape), shape, 1) == INDEX


def test_terms_below_a_step_are_dropped() -> None:
    # 7·r + c with c < 7: divided by 7·4 it is r // 4; the remainder is 7·(r % 4) + c
    rows, cols, by = variable("r", _size(12)), variable("c", _size(7)), _size(28)
    index = rows.times(_size(7)) + cols
    assert _text(index.over(by)) == "(r // 4)"
    assert _text(index.modulo(by)) == "(r % 4) * 7 + c"
    assert index.over(by).times(by) + index.modulo(by) == index
    wider = rows.times(_size(7)) + variable("c", _size(8))
    assert _text(wider.over(by)) == "((c + r * 7) // 28)"  # c may be 7


def test_sizes_that_differ_between_cases_have_names() -> None:
    names = Names()
    assert names.text(_size(3072 * 128, 3072 * 13)) == "3072 * n0"
    assert names.text(_size(128, 13), "s.") == "s.n0"
    assert names.text(_size(64, 64)) == "64"
    assert names.values == {"n0": (128, 13)}


def test_a_rule_holds_in_every_case_or_not_at_all() -> None:
    i = variable("i", _size(6, 8))
    by = Names().text(_size(6, 6))
    assert i.modulo(_size(6, 6)).text(Names()) == f"(i % {by})"  # i may be 7 in the second case
    assert i.modulo(_size(8, 8)) == i


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@settings(max_examples=50, deadline=None)
@given(shapes, st.randoms(use_true_random=False))
def test_the_element_at_a_place_is_the_one_that_numpy_finds(shape: list[int], draw) -> None:
    order = draw.sample(range(len(shape)), len(shape))
    # the values of the view are positions
    view = np.arange(int(np.prod(shape))).reshape(shape).transpose(order)
    stride = tuple(row_major(tuple(shape))[d] for d in order)
    seen = layout([Tensor(view.shape, "float32", stride)], [0])
    i = variable("i", seen.numel)
    place = seen.place(digits(i, seen.shape))
    at = seen.at(i)
    assert seen.dense
    flat = view.reshape(-1)
    for value in range(view.size):
        assert _value(place, value) == flat[value]
        assert view[tuple(_value(each, value) for each in at)] == value


@settings(max_examples=40, deadline=None)
@given(shapes, shapes, st.integers(1, 7), st.integers(0, 6))
def test_arithmetic_is_pythons(sizes: list[int], factors: list[int], by: int, shift: int) -> None:
    terms = list(zip(sizes, factors, strict=False))
    index = constant(_size(shift))
    for at, (size, factor) in enumerate(terms):
        index += variable(f"v{at}", _size(size)).times(_size(factor))
    for values in np.ndindex(*(size for size, _ in terms)):
        named = {f"v{at}": v for at, v in enumerate(values)}
        whole = shift + sum(v * f for v, (_, f) in zip(values, terms, strict=True))
        assert eval(_text(index.over(_size(by))), named) == whole // by
        assert eval(_text(index.modulo(_size(by))), named) == whole % by
        both = index.over(_size(by)).times(_size(by)) + index.modulo(_size(by))
        assert eval(_text(both), named) == whole


def _value(index: Index, i: int) -> int:
    return eval(_text(index), {"i": i})


def test_layouts_with_gaps_are_not_dense() -> None:
    def layout_of(shape: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Layout:
        return layout([Tensor(shape, "float32", stride)], [offset])

    assert layout_of((2, 3), (3, 1)).row_major
    assert layout_of((2, 3), (1, 2)).dense and not layout_of((2, 3), (1, 2)).row_major
    assert not layout_of((2, 3), (4, 1)).dense
    assert not layout_of((2, 3), (3, 1), 6).dense
    assert not layout_of((2, 3), (0, 1)).dense
