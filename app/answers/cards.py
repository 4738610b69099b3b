"""The cards of the shelf: networks, GPUs, hosts and what-ifs, from their registries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.answers.answer import batch_and_seq
from app.answers.changes import with_field, with_network
from app.answers.featured import NETWORKS
from app.answers.gpu_list import ListedGpu, listed_gpus
from app.answers.subject import to_full_text
from app.quantities import number, plain, scaled, trimmed
from simulator.hardware.host import host, hosts
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario.module_pattern import ALL
from simulator.scenario.registry import WhatIf, named
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import Selective
from simulator.scenario.scenario import Scenario
from simulator.simulate.step import check_capturable
from simulator.whatif import apply, whatifs

Kind = Literal["network", "gpu", "host", "whatif"]
SECTIONS: dict[Kind, str] = {
    "network": "Networks",
    "gpu": "GPUs",
    "host": "Hosts",
    "whatif": "What-ifs",
}
_SPELLED = {"gpu": "GPU", "cuda": "CUDA", "l2": "L2", "kv": "KV"}
EVERY_OP = "*"
_DOUBLED = ("samples", "tokens")
"""Parameters without a default that a card doubles: the batch, and the sequence length."""
MIME = "application/x-ridgepoint-card"


@dataclass(frozen=True)
class Card:
    """A card that can be applied to a scenario: `name` is its name in the registry, and the other
    fields are shown."""

    kind: Kind
    name: str
    title: str
    detail: str
    help: str

    @property
    def key(self) -> str:
        """The text that identifies the card while it is dragged."""
        return f"{self.kind}:{self.name}"

    def apply(self, scenario: Scenario, trace: Trace | None = None) -> Scenario:
        """Apply the card to a scenario; `trace` holds its ops, if they are known. Raises InputError
        if it does not apply."""
        if self.kind == "network":
            changed = with_network(scenario, self.name)
        elif self.kind == "whatif":
            changed = apply(scenario, self.name, _first_arguments(scenario, self.name))
        else:
            changed = with_field(scenario, self.kind, self.name)
        refuse_impossible(scenario, changed, trace)
        return changed

    def missing_parameters(self, scenario: Scenario) -> tuple[str, ...]:
        """The parameters without a default, which the user must fill in first."""
        if self.kind != "whatif":
            return ()
        known = _first_arguments(scenario, self.name)
        return tuple(
            p.name for p in named(self.name).parameters if p.default is None and p.name not in known
        )

    def open_parameters(self, scenario: Scenario) -> tuple[str, ...]:
        """The parameters to fill in before the card applies to a whole scenario: those without a
        default, or the first one if its default changes nothing (such as the dtype that the network
        already has) or selects every op. Raises InputError if the card does not apply."""
        if self.kind != "whatif":
            return ()
        first = named(self.name).parameters[:1]
        missing = self.missing_parameters(scenario)
        if missing or not first:
            return missing
        arguments = _first_arguments(scenario, self.name)
        idle = first[0].default == EVERY_OP
        idle = idle or apply(scenario, self.name, arguments).key == scenario.key
        return (first[0].name,) if idle else ()

    def words(self, scenario: Scenario) -> str:
        """The name of this change in the undo history."""
        if self.kind == "whatif":
            changed = self.apply(scenario)
            return to_full_text(changed.whatifs[-1]) if changed.whatifs else self.title
        return f"{self.kind} {self.title}"


def refuse_impossible(before: Scenario, after: Scenario, trace: Trace | None) -> None:
    """Raise InputError if a changed scenario cannot be predicted; `trace` holds the ops before the
    change, if they are known."""
    resolved = resolve(after).possible()
    if trace is None or before.whatifs == after.whatifs:
        return
    earlier = resolve(before)
    for edit in resolved.edits:
        if isinstance(edit, Selective) and edit not in earlier.edits:
            edit.chosen(trace)
    if resolved.mode == "cuda_graph" != earlier.mode:
        check_capturable(trace)


def used(scenario: Scenario) -> frozenset[str]:
    """The keys of the cards in a scenario. Raises InputError if the scenario is invalid."""
    resolved = resolve(scenario)
    have = {"network": resolved.request.network, "gpu": resolved.gpu.id, "host": resolved.host.id}
    return frozenset(
        [f"{kind}:{name}" for kind, name in have.items()]
        + [f"whatif:{each.name}" for each in scenario.whatifs]
    )


def cards(listed: Iterable[ListedGpu] | None = None) -> tuple[Card, ...]:
    """Every card, by section. New registry entries appear automatically. `listed` are all GPUs, if
    they are known."""
    by_peak = sorted(listed or listed_gpus(), key=lambda g: g.peak_flops_per_s, reverse=True)
    all_cards = [
        Card("network", e.name, e.name, _sizes(e.batch, e.seq, e.seq_unit), e.summary)
        for e in sorted(CATALOGUE.values(), key=lambda e: e.name not in NETWORKS)
    ]
    all_cards += [Card("gpu", g.id, g.name, _rates(g), g.architecture) for g in by_peak]
    all_cards += [Card("host", name, name, host(name).cpu, host(name).cpu) for name in hosts()]
    all_cards += [
        Card("whatif", w.name, display_name(w.name), _default_detail(w), f"{w.usage}\n{w.help}")
        for w in whatifs()
        if w.name not in ("network", "gpu", "host")
    ]
    return tuple(all_cards)


def _sizes(batch: int, seq: int | None, unit: str | None) -> str:
    return f"batch {batch:,}" + (f", {seq:,} {unit}" if seq else "")


def _rates(gpu: ListedGpu) -> str:
    wide = trimmed(f"{number(gpu.bandwidth_bytes_per_s / 1e12)} TB/s")
    return f"{scaled(gpu.peak_flops_per_s, 'FLOP/s')}, {wide}"


def _default_detail(whatif: WhatIf) -> str:
    """The second line of a what-if's card: its group and the default of its first parameter, such
    as "hardware, 2×"; "needs NAME" if that parameter has no default."""
    if not whatif.parameters:
        return whatif.group
    first = whatif.parameters[0]
    if first.default == ALL or (first.kind == "text" and first.default):
        return whatif.group
    if first.name in _DOUBLED:
        return f"{whatif.group}, 2× {first.name}"
    if first.default in (None, EVERY_OP):
        return f"{whatif.group}, needs {first.name}"
    value = "on" if first.default is True else first.default
    value = plain(value) if isinstance(value, float) else value
    unit = first.unit if first.unit == "×" else f" {first.unit}"
    return f"{whatif.group}, {value}{unit}".rstrip()


def display_name(name: str) -> str:
    """A what-if's name as shown: "CUDA graph"."""
    return " ".join(_SPELLED.get(word, word) for word in name.split("_"))


def _first_arguments(scenario: Scenario, name: str) -> dict[str, object]:
    """Initial arguments of parameters without a default, so that their controls have a value: twice
    the scenario's own batch or sequence, or the first choice."""
    arguments: dict[str, object] = {}
    now: dict[str, int | None] = dict(zip(_DOUBLED, batch_and_seq(scenario), strict=True))
    for each in named(name).parameters:
        if each.default is None and each.kind == "count":
            if size := now.get(each.name):
                arguments[each.name] = 2 * size
        elif each.default is None and each.kind == "choice" and each.choices:
            arguments[each.name] = each.choices[0]
    return arguments
