"""Calls of libraries that were recorded with their kernels on an H200
(`calibration/measurements/h200_sxm/further.jsonl.gz`)."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any, NamedTuple

from calibration.record.read import MEASUREMENTS

DTYPES = {"fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class Recorded(NamedTuple):
    """The parameters of a call, and the names of its kernels in launch order."""

    params: dict[str, Any]
    kernels: list[str]


@cache
def _lines() -> list[str]:
    with gzip.open(MEASUREMENTS / "h200_sxm" / "further.jsonl.gz", "rt", encoding="utf-8") as file:
        return file.readlines()


@cache
def recorded(operation: str) -> list[Recorded]:
    """The recorded calls of an operation of `calibration.sweeps`."""
    mark = f'"operation":"{operation}"'
    rows = [json.loads(line.partition(" ")[2]) for line in _lines() if mark in line]
    return [Recorded(row["point"]["params"], [name for name, *_ in row["kernels"]]) for row in rows]
