"""A plan that the user edits: its spec as a mapping and as TOML, without predictions."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.spec import Spec, WorkloadKind
from simulator.planning.spec_file import read
from simulator.planning.spec_link import keys_of_link
from simulator.planning.spec_text import spec_text

Table = dict[str, Any]

_WORK: dict[WorkloadKind, Table] = {
    "serving": {
        "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 1024, "output": 300},
        "load": {"rate": "20/s"},
        "limits": {"per_token": "50 ms", "first_token": "1 s", "percentile": 99},
    },
    "inference": {
        "workload": {"kind": "inference", "network": "resnet50"},
        "load": {"rate": "800/s"},
        "limits": {"latency": "100 ms"},
    },
    "training": {
        "workload": {"kind": "training", "network": "resnet50", "samples": "115M", "batch": 256},
        "limits": {"deadline": "1 week"},
    },
}
"""The initial plan of each kind of workload."""


@dataclass(frozen=True)
class Draft:
    """The spec of a plan as TOML text. Drafts are equal if their texts are equal."""

    text: str

    @cached_property
    def table(self) -> Table:
        """The spec as a mapping; do not change it."""
        return tomllib.loads(self.text)

    @cached_property
    def spec(self) -> Spec:
        """The spec. Raises InputError if the planner refuses it."""
        return read(self.table)

    def get(self, *path: str) -> Any:
        """The value of a key, or None."""
        value: Any = self.table
        for name in path:
            if not isinstance(value, dict):
                return None
            value = cast("Table", value).get(name)
        return value

    def put(self, value: Any, *path: str) -> Draft:
        """A draft with a value at a key; None removes the key, and its section if it is then
        empty."""
        table = deepcopy(self.table)
        _put(table, value, path)
        return of_table(table)

    def of_kind(self, kind: WorkloadKind) -> Draft:
        """A draft of another kind of workload for the same candidates and prices, and for the same
        network if that kind of workload can run it."""
        unchanged = deepcopy(
            {n: self.table[n] for n in ("candidates", "prices") if n in self.table}
        )
        if kind != "serving":
            for choices in _choices(unchanged.get("candidates", {})):
                choices.pop("splits", None)
                choices.pop("disaggregated", None)
        if kind != "training":
            for key in ("parallel", "network"):
                unchanged.get("candidates", {}).pop(key, None)
        return of_table(work_of(kind, self.table["workload"]["network"]) | unchanged)

    def of_trace(self, path: Path) -> Draft:
        """A draft that serves the requests of a CSV file."""
        table = deepcopy(self.table)
        for name in (("workload", "prompt"), ("workload", "output"), ("load", "rate")):
            _put(table, None, name)
        _put(table, str(path.resolve()), ("workload", "requests_csv"))
        return of_table(table)

    def without_trace(self) -> Draft:
        """A draft with lengths and a rate in place of a CSV file."""
        usual = _WORK["serving"]
        draft = self.put(None, "workload", "requests_csv").put(
            usual["load"]["rate"], "load", "rate"
        )
        for name in ("prompt", "output"):
            draft = draft.put(usual["workload"][name], "workload", name)
        return draft


def can_run(kind: WorkloadKind, network: str) -> bool:
    """Whether a kind of workload can run a network."""
    if kind == "serving":
        return f"{network}-decode" in CATALOGUE
    return kind == "inference" or network not in CATALOGUE or CATALOGUE[network].trains


def work_of(kind: WorkloadKind, network: str) -> Table:
    """The initial plan of a kind of workload, with `network` if that kind can run it. The load and
    limits of the initial plan are kept only for its own network, or for a service."""
    work = deepcopy(_WORK[kind])
    if network != work["workload"]["network"] and can_run(kind, network):
        work["workload"]["network"] = network
        if kind != "serving":
            work["workload"].pop("batch", None)
            work = {"workload": work["workload"]}
    return work


def of_table(table: Table) -> Draft:
    """A draft from a mapping."""
    return Draft(spec_text(table))


def opened(path: Path) -> Draft:
    """The draft of a plan's file; the relative path of a CSV file becomes absolute. Raises
    InputError if the file cannot be read or is refused."""
    read(path)
    table = tomllib.loads(path.read_text("utf-8"))
    csv = table["workload"].get("requests_csv")
    if csv is not None:
        table["workload"]["requests_csv"] = str((path.parent / csv).resolve())
    return of_table(table)


def linked(address: str) -> Draft:
    """The draft of a plan's link. Raises InputError if the link is damaged or its plan is
    refused."""
    return checked(of_table(keys_of_link(address)))


def first() -> Draft:
    """The draft of a session without a plan."""
    cards = {
        "gpus": ["h200", "h100", "b200", "a100", "l40s"],
        "counts": [1, 2, 4, 8],
        "engines": ["vllm", "eager"],
        "precisions": ["bf16"],
    }
    prices = {"energy": "0.12 USD/kWh", "pue": 1.2}
    return of_table(deepcopy(_WORK["serving"]) | {"candidates": cards, "prices": prices})


def checked(draft: Draft) -> Draft:
    """The draft if the planner accepts its spec. Raises InputError with the planner's message."""
    if not draft.table.get("workload"):
        raise InputError("workload is missing: expected a section [workload]; add it")
    _ = draft.spec
    return draft


def _choices(candidates: Table) -> list[Table]:
    """The choices for every GPU, and those of each GPU with its own choices."""
    return [candidates, *candidates.get("per_gpu", {}).values()]


def _put(table: Table, value: Any, path: tuple[str, ...]) -> None:
    name, *below = path
    if below:
        inner = table.setdefault(name, {})
        _put(inner, value, tuple(below))
        if not inner:
            del table[name]
    elif value is None:
        table.pop(name, None)
    else:
        table[name] = value
