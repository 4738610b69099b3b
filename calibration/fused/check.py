"""`python -m calibration.fused.check [VARIANT …]` compares every kernel with its reference at
irregular sizes. It prints a line of JSON for each and exits with 1 if a kernel is wrong. It runs on
a GPU, or with TRITON_INTERPRET=1 on any machine, there without bf16, whose products are wrong in
the interpreter. Results are initialised with NaN to detect elements that no program writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from calibration.fused import VARIANTS, Variant

LIMIT = {"fp32": 2e-5, "fp16": 2**-9, "bf16": 2**-6}
"""Two units in the last place of fp16 or bf16; for fp32, the rounding errors of long sums."""


def checks(names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the variant, its params and the largest relative error, for each irregular size and
    dtype."""
    on_gpu = torch.cuda.is_available()
    torch.set_default_device("cuda" if on_gpu else "cpu")
    torch.use_deterministic_algorithms(True, warn_only=True)
    for name in names or VARIANTS:
        for dtype in ("fp32", "fp16", *(("bf16",) if on_gpu else ())):
            torch.manual_seed(0)
            yield from _checks(VARIANTS[name], dtype)


def _checks(variant: Variant, dtype: str) -> Iterator[dict[str, Any]]:
    for shape in variant.irregular:
        params = {**shape, "dtype": dtype}
        error = variant.relative_error(**params)
        good = error <= LIMIT[dtype]
        yield {"variant": variant.name, "params": params, "error": error, "good": good}


def main() -> None:
    bad = 0
    for line in checks(sys.argv[1:]):
        print(json.dumps(line), flush=True)
        bad += not line["good"]
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
