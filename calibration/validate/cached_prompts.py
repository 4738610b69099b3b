"""Benchmarks that cannot have computed all their prompts.

A benchmark that sends prompts again lets a server with cached prefixes skip them, and its table
does not mention this. In one cycle of a closed loop every client gets one answer, and the products
of all prompts must be computed. If a run's cycle is shorter than these products alone at the
highest rate of any product on the card, its prompts were not computed in full. Then none of its
benchmark's runs is comparable with servers that compute them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache as cached

from simulator.planning.spec import Workload
from simulator.planning.step.tables import network_size
from simulator.planning.step.traced_step import sizes_of


@dataclass(frozen=True)
class Cycle:
    """A closed loop of a benchmark: GPUs with `flops_per_s` each, clients, mean tokens of a prompt
    and of an answer, and measured seconds to the first and for each later token."""

    benchmark: str
    network: str
    gpus: int
    flops_per_s: float
    clients: int
    prompt: float
    output: float
    first_token_s: float
    per_token_s: float

    @property
    def seconds(self) -> float:
        """Seconds in which each client gets one answer."""
        return self.first_token_s + (self.output - 1) * self.per_token_s

    @property
    def products_s(self) -> float:
        """A lower bound on the seconds of the matrix products of all prompts."""
        flops = 2 * _parameters_of_prompt(self.network) * self.clients * self.prompt
        return flops / self.gpus / self.flops_per_s


def impossible(cycles: Iterable[Cycle]) -> set[str]:
    """The benchmarks with a run whose cycle is shorter than the products of its prompts."""
    return {cycle.benchmark for cycle in cycles if cycle.seconds < cycle.products_s}


@cached
def _parameters_of_prompt(network: str) -> float:
    """The parameters that the products of a prompt's token use: all that a token uses except the
    head, which is computed for the last token only."""
    sizes = sizes_of(network)
    used = network_size(Workload("serving", network)).used
    return used - float(sizes["vocab"] * sizes["width"])
