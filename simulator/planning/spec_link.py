"""A plan as a link. Reading a link runs no code and opens no file."""

from __future__ import annotations

import tomllib
from typing import Any, cast

from simulator.formats.link import link
from simulator.planning.spec_text import spec_text
from simulator.scenario.text.link import check_self_contained, table_of_link


def spec_link(toml: str) -> str:
    """The link of a plan's TOML. Raises InputError if the plan names a file."""
    keys = tomllib.loads(toml)
    _check(keys, "the plan")
    return link("plan", spec_text(keys))


def keys_of_link(address: str) -> dict[str, Any]:
    """The mapping in a plan's link. Raises InputError if the link is damaged or names a file."""
    keys = table_of_link(address, "plan")
    _check(keys, "the link")
    return keys


def _check(keys: dict[str, Any], source: str) -> None:
    work = keys.get("workload")
    named = cast("dict[str, Any]", work).get("network") if isinstance(work, dict) else None
    check_self_contained(keys, named, source)
