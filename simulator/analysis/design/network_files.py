"""The contents of the files that define a design's networks. Rows are valid only for these
contents."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.analysis.design.design import Design
from simulator.scenario.scenario import Scenario
from simulator.symbols.cache import file_digest, network_digests

Digests = Mapping[str, Mapping[str, str]]
"""For each network, the SHA-256 digests of its files by name."""


def network_files(design: Design) -> Digests:
    """The files of a design's networks: a user's file and those that it imports, a configuration,
    or a saved trace. An installed package that a user's file imports is represented by its size and
    time."""
    networks = dict.fromkeys([design.scenario.network, *design.axes.get("network", ())])
    digests = {f"{network}": _digests(f"{network}") for network in networks}
    return {network: files for network, files in digests.items() if files}


def changed_files(before: Digests, after: Digests) -> list[str]:
    """The names of the files that differ, are new or are gone."""
    return sorted(
        {
            name
            for network in {*before, *after}
            for name, _ in {*before.get(network, {}).items()} ^ {*after.get(network, {}).items()}
        }
    )


def _digests(network: str) -> dict[str, str]:
    trace = Scenario(network).trace_file
    return {trace.name: file_digest(trace)} if trace else network_digests(network)
