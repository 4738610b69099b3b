"""Settings of a process that change its matrix products: TF32, and the workspace of cuBLAS.

Code sets them at import or in a constructor: `torch.set_float32_matmul_precision("high")`, as
speechbrain does, or `CUBLAS_WORKSPACE_CONFIG`, as monai and scripts for reproducible runs do.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import torch

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


class ProductSettings(NamedTuple):
    """The precision of float32 products ("highest", "high", "medium"), and the workspace of cuBLAS
    if it is configured."""

    precision: str = "highest"
    workspace: str | None = None

    def apply(self) -> None:
        """Give the process these settings."""
        if current() == self:
            return
        torch.set_float32_matmul_precision(self.precision)
        os.environ.pop(_WORKSPACE, None)
        if self.workspace is not None:
            os.environ[_WORKSPACE] = self.workspace


def current() -> ProductSettings:
    """The settings of the process."""
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # set for one backend: torch.backends.cuda.matmul.fp32_precision
        tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
        precision = "high" if tf32 else "highest"
    return ProductSettings(precision, os.environ.get(_WORKSPACE))


_CHANGED: dict[str, ProductSettings] = {}


@contextmanager
def settings_of(network: str) -> Generator[None]:
    """Load and trace a network inside this context with stock settings and those that its own code
    changes. They are stored by its name, because a package changes them only at its first import in
    a process. The settings of the process are the same afterwards."""
    before = current()
    _CHANGED.get(network, ProductSettings()).apply()
    try:
        yield
        _CHANGED[network] = current()
    finally:
        before.apply()
