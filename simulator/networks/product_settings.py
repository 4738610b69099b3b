"""Settings of a process that change its matrix products: TF32, the workspace of cuBLAS, and the
order of the products of `torch.einsum`.

Code sets them at import or in a constructor: `torch.set_float32_matmul_precision("high")`, as
speechbrain does, `CUBLAS_WORKSPACE_CONFIG`, as MONAI and scripts for reproducible runs do, or
`torch.backends.opt_einsum.enabled`. If opt_einsum is installed and enabled, `torch.einsum` of three
operands or more follows its plan; else it contracts from left to right.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


class ProductSettings(NamedTuple):
    """The precision of float32 products ("highest", or "high" and "medium", which allow TF32), the
    workspace of cuBLAS if it is configured, and whether opt_einsum plans products if it is
    installed."""

    precision: str = "highest"
    workspace: str | None = None
    plans_einsum: bool = True

    def apply(self) -> None:
        """Give the process these settings."""
        import torch  # only where a network is traced

        now = current()
        if now.precision != self.precision:
            torch.set_float32_matmul_precision(self.precision)
        if now.workspace != self.workspace:
            os.environ.pop(_WORKSPACE, None)
            if self.workspace is not None:
                os.environ[_WORKSPACE] = self.workspace
        if now.plans_einsum != self.plans_einsum:
            torch.backends.opt_einsum.enabled = self.plans_einsum


STOCK = ProductSettings()


def current() -> ProductSettings:
    """The settings of the process."""
    import torch  # only where a network is traced

    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # set for one backend: torch.backends.cuda.matmul.fp32_precision
        tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
        precision = "high" if tf32 else "highest"
    planner = torch.backends.opt_einsum
    plans = not planner.is_available() or bool(planner.enabled)
    return ProductSettings(precision, os.environ.get(_WORKSPACE), plans)


def allows_tf32() -> bool:
    """Whether float32 products may run in TF32 now."""
    return current().precision != "highest"


@contextmanager
def own_settings() -> Generator[None]:
    """Load and trace a network inside this context: it begins with stock settings, and the settings
    of the process are the same afterwards. A package that changes settings when it is imported does
    so for the first network of the process that imports it."""
    before = current()
    STOCK.apply()
    try:
        yield
    finally:
        before.apply()
