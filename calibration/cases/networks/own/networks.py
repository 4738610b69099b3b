"""Networks as users write them by hand, indexed by name."""

from __future__ import annotations

from calibration.cases.networks.own.adapted import ADAPTED
from calibration.cases.networks.own.agents import AGENTS
from calibration.cases.networks.own.diffusion import DIFFUSION
from calibration.cases.networks.own.encoders import ENCODERS
from calibration.cases.networks.own.generators import GENERATORS
from calibration.cases.networks.own.maps import MAPS
from calibration.cases.networks.own.markets import MARKETS
from calibration.cases.networks.own.matter import MATTER
from calibration.cases.networks.own.memories import MEMORIES
from calibration.cases.networks.own.mobile import MOBILE
from calibration.cases.networks.own.motion import MOTION
from calibration.cases.networks.own.network import Own
from calibration.cases.networks.own.pictures import PICTURES
from calibration.cases.networks.own.recognition import RECOGNITION
from calibration.cases.networks.own.scenes import SCENES
from calibration.cases.networks.own.science import SCIENCE
from calibration.cases.networks.own.sequences import SEQUENCES
from calibration.cases.networks.own.signals import SIGNALS
from calibration.cases.networks.own.sounds import SOUNDS
from calibration.cases.networks.own.speech import SPEECH
from calibration.cases.networks.own.tables import TABLES
from calibration.cases.networks.own.text import TEXT
from calibration.cases.networks.own.translated import TRANSLATED

_KINDS: tuple[dict[str, type[Own]], ...] = (
    *(TEXT, TABLES, PICTURES, GENERATORS, SOUNDS, SCENES, SCIENCE, SEQUENCES, ENCODERS),
    *(ADAPTED, AGENTS, DIFFUSION, MATTER, MOBILE, MOTION, SPEECH),
    *(MAPS, TRANSLATED, RECOGNITION, MEMORIES, MARKETS, SIGNALS),
)
OWN: dict[str, type[Own]] = {
    f"own-{name}": network for group in _KINDS for name, network in group.items()
}
"""The networks by name; each is called without arguments, or with its own sizes."""
