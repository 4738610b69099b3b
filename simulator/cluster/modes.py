"""The modes in which steps over several GPUs are predicted."""

from __future__ import annotations

from simulator.errors import InputError

MODES = ("eager", "cuda_graph")


def check_mode(mode: str) -> None:
    """Raise InputError for a mode that has no prediction on several GPUs."""
    if mode not in MODES:
        raise InputError(
            f"mode {mode!r} on several GPUs: expected one of {', '.join(map(repr, MODES))}; "
            "compiled steps are predicted on one GPU (predict)"
        )
