"""Short names of GPUs."""

from __future__ import annotations


def short_gpu(name: str) -> str:
    """A GPU's name without its maker and its memory: "H200 SXM", "RTX 4090"."""
    for maker in ("GeForce ", "NVIDIA "):
        name = name.removeprefix(maker)
    words = name.partition(" (")[0].split(" ")
    if len(words) > 1 and words[-1].endswith("GB"):
        words = words[:-1]
    return " ".join(words)
