from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from simulator.costs import COSTS, TRAITS, Traits, Work, cost, listed, traits_of
from simulator.costs.registry import autocast_lists, describe
from simulator.fusion.kinds import kind
from simulator.fusion.lowering.arithmetic import arithmetic
from simulator.fusion.passes.op_types import is_fusible, is_recomputable
from simulator.kernel_source.element import rule_of, supported
from simulator.records import Op
from simulator.scenario.packaged import index
from tests.simulator.costs.conftest import sig

NAME = "aten.of_this_test.default"
X = ((10, 100), "float32")


@pytest.fixture
def registered() -> Iterator[None]:
    """Remove the ops that a test registers."""
    costs, traits = dict(COSTS), dict(TRAITS)
    yield
    for table, before in ((COSTS, costs), (TRAITS, traits)):
        table.clear()
        table.update(before)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize("name", TRAITS)
def test_every_op_with_traits_is_one_of_torch(name: str) -> None:
    overloads = getattr(torch.ops.aten, name).overloads()
    assert TRAITS[name].autocast is None or set(TRAITS[name].overloads) <= set(overloads)


def test_the_traits_of_three_ops() -> None:
    assert TRAITS["exp"] == Traits(
        slots=9, triton="tl.exp({self})", recompute="listed", autocast="float32"
    )
    assert TRAITS["mm"] == Traits(recompute="intensive", autocast="low")
    assert TRAITS["native_layer_norm"] == Traits(row_slots=(9, 24), autocast="float32")
    assert traits_of("sort") == Traits()


def test_the_ops_whose_argument_must_be_positive() -> None:
    positive = {name for name, traits in TRAITS.items() if traits.positive}
    assert positive == {"sqrt", "rsqrt", "log", "log2"}


def test_the_overloads_that_autocast_casts() -> None:
    lists = autocast_lists()
    assert len(lists) == 111
    assert lists["sum.default"] == lists["sum.dim_IntList"] == "float32_argument"
    assert (lists["pow.Scalar"], lists["linear.default"]) == ("float32", "low")
    assert not {"pow.default", "exp.out", "softmax.default", "mm.dtype"} & lists.keys()


@pytest.mark.usefixtures("registered")
def test_the_cost_of_an_op_is_enough_for_its_traits() -> None:
    traits = listed(slots=7, triton="{self} + 1.0", autocast="float32")

    @cost(NAME, "aten.of_this_test_.default", traits=traits)
    def of_this_test(op: object) -> Work:
        return Work("pointwise", 2000)

    signature = sig(NAME, X, self=X)
    op = Op(signature, "", "forward", (0, 0))
    assert kind(signature) == "pointwise"
    assert arithmetic(signature) == (2000, 7 * 1000)
    assert is_recomputable(op) and is_fusible(op)
    assert autocast_lists()["of_this_test.default"] == "float32"
    assert rule_of("of_this_test") is not None and "of_this_test, " in supported()
    assert "of_this_test_" not in TRAITS


@pytest.mark.usefixtures("registered")
def test_a_kind_replaces_that_of_the_works() -> None:
    cost(NAME, traits=Traits(kind="reduction"))(lambda op: Work("pointwise"))
    assert kind(sig(NAME, X, self=X)) == "reduction"


@pytest.mark.usefixtures("registered")
def test_an_op_has_one_set_of_traits() -> None:
    with pytest.raises(ValueError, match=r"^mm already has Traits\(.*: expected the same for each"):
        describe("aten.mm.of_this_test", traits=Traits(autocast="float32"))
    describe("aten.mm.of_this_test", traits=TRAITS["mm"])
    with pytest.raises(ValueError, match="'mm' is not an overload: expected a name like"):
        describe("mm", traits=TRAITS["mm"])


def test_packaged_traces_become_stale_with_the_lists_of_autocast_but_with_no_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digest = index._digest_of_tracing.__wrapped__  # pyright: ignore[reportPrivateUsage]
    before = digest()
    monkeypatch.setitem(TRAITS, "exp", TRAITS["exp"]._replace(slots=10, recompute=None))
    monkeypatch.setitem(COSTS, "aten.exp.default", lambda op: ())
    assert digest() == before
    monkeypatch.setitem(TRAITS, "exp", TRAITS["exp"]._replace(autocast=None))
    assert digest() != before
