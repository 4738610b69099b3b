"""A user's own GPU file, and the error of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.errors import InputError
from simulator.hardware.gpu import gpu

MINE = """
name = "Mine"
memory_gib = 80
bandwidth_gbytes_per_s = 1500

[tensor_tflops]
bf16 = 312
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path) -> str:
    """The error about a file, without the file's name, with which it must begin."""
    with pytest.raises(InputError) as caught:
        gpu(path)
    file, _, message = str(caught.value).partition(": ")
    assert file == str(path)
    return message
