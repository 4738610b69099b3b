"""A scenario as a link. Reading a link runs no code and opens no file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE
from simulator.formats.link import Kind, link, parts
from simulator.formats.toml import shown
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.file import of_table, table, text

_FILES = re.compile(r"^(hf|timm):|\.(py|toml|json|csv|rpt|msgpack|gz|safetensors)(:|$)", re.I)


def scenario_link(scenario: Scenario) -> str:
    """The link of a scenario. Raises InputError if its network or GPU is a file."""
    keys = table(scenario)
    check_self_contained(keys, scenario.network, "the scenario")
    return link("scenario", text(scenario))


def scenario_of_link(address: str) -> Scenario:
    """The scenario of a link. Raises InputError if it is damaged, holds no valid scenario, or names
    a file."""
    keys = table_of_link(address, "scenario")
    check_self_contained(keys, keys.get("network"), "the link")
    try:
        return of_table(keys)
    except InputError as error:
        raise InputError(f"the link: {error}") from None


def table_of_link(address: str, kind: Kind) -> dict[str, Any]:
    """Read the table in a link, which must be of this kind. Raises InputError for another kind."""
    link_kind, toml = parts(address)
    if link_kind != kind:
        raise InputError(
            f"the link holds a {link_kind}: expected a {kind}; open it in the explorer"
            + (" or with `ridgepoint plan`" if link_kind == "plan" else "")
        )
    if max(map(len, toml.splitlines()), default=0) > LONGEST_LINE:
        raise InputError(
            f"the link holds lines of over {LONGEST_LINE} characters: expected a {kind}; copy it "
            "again"
        )
    try:
        return tomllib.loads(toml)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the link holds no {kind}: {error}; copy it again") from None


def check_self_contained(keys: Mapping[str, Any], network: Any, source: str) -> None:
    """Raise InputError if the keys of a scenario or a plan name a file or a package: a link must
    not run its code, and another computer may not have it. The figures of a GPU are allowed."""
    figures = isinstance(keys.get("gpu"), Mapping)
    names = [*_texts({k: v for k, v in keys.items() if not (figures and k == "gpu")})]
    wrong = [name for name in names if _FILES.search(name)]
    if isinstance(network, str) and not {network, f"{network}-decode"} & CATALOGUE.keys():
        wrong.append(network)
    if wrong:
        raise InputError(
            f"{source} names {shown(wrong[0])}, which it does not contain: "
            "expected a built-in network, GPU and host; send the file instead"
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in cast("Mapping[str, Any]", value).items():
            yield key
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in cast("list[Any]", value):
            yield from _texts(each)
