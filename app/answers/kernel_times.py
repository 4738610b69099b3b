"""The sources of a GPU's kernel times, in words."""

from __future__ import annotations

from simulator.hardware.gpu import GPU
from simulator.timing.profile import Profile, learned
from simulator.timing.software import Tier, tier

_WORDS: dict[Tier, str] = {
    "interpolated": "measured", "transferred": "transferred", "datasheet": "data sheet",
}  # fmt: skip
OWN_FIGURES = "overheads and an interval measured on this GPU"
"""What the file of a card adds to the profile of another GPU of the same chip."""


def kernel_times(gpu: GPU, profile: Profile) -> str:
    """The source in one or two words. Transferred times are "partly measured" if the GPU has
    overheads and an interval of its own."""
    return "partly measured" if profile.card == gpu.id else _WORDS[tier(gpu, profile)]


def has_own_figures(gpu: GPU, profile: str) -> bool:
    """Whether the profile of this id transfers another GPU's kernels to `gpu` with overheads and an
    interval that were measured on `gpu`."""
    own = learned(gpu.id)
    return own.id == profile and own.card == gpu.id
