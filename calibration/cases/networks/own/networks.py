"""Networks as users write them by hand, indexed by name."""

from __future__ import annotations

from calibration.cases.networks.own.generators import GENERATORS
from calibration.cases.networks.own.network import Own
from calibration.cases.networks.own.pictures import PICTURES
from calibration.cases.networks.own.tables import TABLES
from calibration.cases.networks.own.text import TEXT

OWN: dict[str, type[Own]] = {
    f"own-{name}": network for name, network in {**TEXT, **TABLES, **PICTURES, **GENERATORS}.items()
}
"""The networks by name; each is called without arguments, or with its own sizes."""
