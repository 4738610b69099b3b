"""Dynamo's own account of a function's graphs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Explained = Callable[..., Any]
"""Traces a function with arguments; the result counts its graphs and their breaks."""


@pytest.fixture
def explained() -> Iterator[Explained]:
    """`torch._dynamo.explain`, without caches before and after."""
    from torch import _dynamo  # imported by tests that need it alone: it changes how steps run

    _dynamo.reset()
    yield lambda function, *arguments: _dynamo.explain(function)(*arguments)
    _dynamo.reset()
    gc.collect()
