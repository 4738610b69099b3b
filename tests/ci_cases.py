"""Cases of a long parametrisation that continuous integration runs; the others are `slow`, and
`python run.py test --all` runs them."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

KINDS = (
    "mlp-tiny",
    "resnet18",
    "unet",
    "bert-base",
    "t5-base",
    "llama3-1b-decode",
    "mixtral-small",
    "gpt-oss-20b",
    "mamba2-130m",
    "lstm",
    "dlrm",
)
"""Networks of the catalogue of which each has ops that no other one has."""


def others_slow(cases: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """The cases, each of them marked `slow` unless `quick` contains it."""
    return [case if case in quick else _slow(case) for case in cases]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
