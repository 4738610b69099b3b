"""Attributes that a tracer replaces while it runs."""

from __future__ import annotations

from types import ModuleType

import pytest

from simulator.tracing.substituted import substituted


class _Base:
    def name(self) -> str:
        return "base"


class _Child(_Base):
    @staticmethod
    def size() -> int:
        return 1


def test_attributes_are_replaced_and_restored() -> None:
    module = ModuleType("networks")
    module.__dict__.update(depth=1, width=2)
    with substituted(module, depth=3):
        assert (module.depth, module.width) == (3, 2)
        with substituted(module, depth=4, width=5):
            assert (module.depth, module.width) == (4, 5)
        assert (module.depth, module.width) == (3, 2)
    assert (module.depth, module.width) == (1, 2)


def test_attributes_are_restored_after_an_error() -> None:
    with pytest.raises(KeyError), substituted(_Child, size=lambda: 2):
        raise KeyError
    assert _Child.size() == 1 and isinstance(vars(_Child)["size"], staticmethod)


def test_an_inherited_attribute_is_inherited_again() -> None:
    with substituted(_Child, name=lambda _: "child"):
        assert (_Child().name(), _Base().name()) == ("child", "base")
    assert _Child().name() == "base" and "name" not in vars(_Child)


def test_an_attribute_that_does_not_exist_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'depth'"), substituted(_Child, depth=1):
        raise AssertionError
    assert not hasattr(_Child, "depth")
