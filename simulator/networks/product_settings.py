"""Settings of a process that change its matrix products: TF32, and the workspace of cuBLAS.

Code sets them at import or in a constructor: `torch.set_float32_matmul_precision("high")`, as
speechbrain does, or `CUBLAS_WORKSPACE_CONFIG`, as MONAI and scripts for reproducible runs do. One
process loads networks one after another, so each begins with stock settings, and an import of a
package that an earlier network has imported changes them again.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import get_ident, local
from typing import Any, NamedTuple

import torch

_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


class ProductSettings(NamedTuple):
    """The precision of float32 products ("highest", or "high" and "medium", which allow TF32), and
    the workspace of cuBLAS if it is configured."""

    precision: str = "highest"
    workspace: str | None = None

    def apply(self) -> None:
        """Give the process these settings."""
        now = current()
        if now.precision != self.precision:
            torch.set_float32_matmul_precision(self.precision)
        if now.workspace != self.workspace:
            os.environ.pop(_WORKSPACE, None)
            if self.workspace is not None:
                os.environ[_WORKSPACE] = self.workspace


STOCK = ProductSettings()


def current() -> ProductSettings:
    """The settings of the process."""
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # set for one backend: torch.backends.cuda.matmul.fp32_precision
        tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
        precision = "high" if tf32 else "highest"
    return ProductSettings(precision, os.environ.get(_WORKSPACE))


def allows_tf32() -> bool:
    """Whether float32 products may run in TF32 now."""
    return current().precision != "highest"


_CHANGES: dict[str, dict[str, Any]] = {}
"""The settings that the first import of a package changed, by package."""
_CONTEXT = local()


@contextmanager
def own_settings() -> Generator[None]:
    """Load and trace a network inside this context: with stock settings and those that its code and
    the packages that it imports change. The settings of the process are the same afterwards. A
    context inside another one has no effect."""
    if getattr(_CONTEXT, "entered", False):
        yield
        return
    before, plain_import = current(), builtins.__import__
    STOCK.apply()
    _CONTEXT.entered = True
    builtins.__import__ = _following(plain_import)
    try:
        yield
    finally:
        builtins.__import__ = plain_import
        _CONTEXT.entered = False
        before.apply()


def _following(plain_import: Any) -> Any:
    """An import function that stores the changes of a package's first import, and repeats them at
    its further imports. Imports of other threads are as before."""
    thread = get_ident()

    def following(name: str, *args: Any, **options: Any) -> Any:
        package = name.partition(".")[0]
        if get_ident() != thread or not package:
            return plain_import(name, *args, **options)
        if package in sys.modules:
            if changes := _CHANGES.get(package):
                current()._replace(**changes).apply()
            return plain_import(name, *args, **options)
        before = current()
        module = plain_import(name, *args, **options)
        after = current()
        pairs = zip(ProductSettings._fields, before, after, strict=True)
        changes = {field: new for field, old, new in pairs if new != old}
        if changes:
            _CHANGES[package] = changes
        return module

    return following
