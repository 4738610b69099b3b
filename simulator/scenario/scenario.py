"""A scenario: a network, the machine it runs on, and the what-ifs applied to it.

    scenario = Scenario("bert-base", gpu="h200", batch=8)
    faster = apply(scenario, "cuda_graph")      # simulator.whatif
    predict(faster).period_s

A scenario is plain data. What-ifs are a list that leaves the other fields unchanged; undoing one
removes it from the list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError
from simulator.formats.atomic import write_whole
from simulator.formats.link import is_link
from simulator.formats.present import is_file
from simulator.networks.catalogue import CATALOGUE

if TYPE_CHECKING:
    from simulator.prediction import Prediction

Value = bool | int | float | str | tuple[Any, ...]


@dataclass(frozen=True)
class Applied:
    """A what-if that was applied: its name and all of its arguments."""

    name: str
    arguments: Mapping[str, Value] = field(default_factory=dict[str, Value])


@dataclass(frozen=True)
class Scenario:
    """The inputs of a prediction. None leaves a choice to the network or to its saved trace.

    network     a name of the catalogue, file.py:factory, hf:folder, timm:name, or a saved trace
    gpu         an id, a TOML file, or the keys of such a file
    host        the id of a host; None is the default host
    dtype       "fp32", "bf16", "fp16", "autocast" (bf16) or "autocast-fp16"
    optimizer   "adamw", "adamw_fused", "sgd" or "none"
    sizes       the network's own parameters
    data_sizes  sizes that data-dependent ops return, by op
    whatifs     in the order in which they were applied
    host_speed  speed of the host as a multiple of its profile
    """

    network: str
    gpu: str | Mapping[str, Any] = "h200"
    host: str | None = None
    mode: str = "eager"
    batch: int | None = None
    seq: int | None = None
    dtype: str | None = None
    training: bool | None = None
    optimizer: str | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data_sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    whatifs: tuple[Applied, ...] = ()
    host_speed: float = 1.0

    @property
    def trace_file(self) -> Path | None:
        """The path of the saved trace if `network` names one, else None."""
        path = Path(self.network)
        foreign = self.network.startswith(("hf:", "timm:")) or ":" in path.name
        if self.network in CATALOGUE or foreign or path.suffix == ".py":
            return None
        is_trace = path.suffix in (".json", ".rpt", ".msgpack")
        return path if is_trace or is_file(path) else None

    @cached_property
    def key(self) -> str:
        """A text that is equal for equal scenarios, whatever the order of their sizes."""
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        parts["whatifs"] = [(a.name, dict(a.arguments)) for a in self.whatifs]
        return json.dumps(parts, sort_keys=True, default=dict)

    @property
    def baseline(self) -> Scenario:
        """The scenario without its what-ifs."""
        return replace(self, whatifs=())

    def undo(self) -> Scenario:
        """The scenario without its last what-if. Raises InputError if the scenario has no
        what-ifs."""
        if not self.whatifs:
            raise InputError("nothing to undo: expected a scenario with a what-if; apply one first")
        return replace(self, whatifs=self.whatifs[:-1])


def predict(scenario: Scenario) -> Prediction:
    """Predict a scenario. Raises InputError, with the reason, if it has no prediction."""
    # imported here, as below, so that a command that only reads scenarios starts fast
    from simulator.scenario.predict import predict as run

    return run(scenario)


def save(scenario: Scenario, path: Path | str) -> None:
    """Write a scenario to a TOML file atomically. Raises InputError if it cannot be written."""
    from simulator.scenario.text.file import text  # that module imports this one

    path = Path(path)
    try:
        write_whole(path, text(scenario).encode())
    except OSError as error:
        raise InputError(
            f"cannot write the scenario {path}: {error.strerror}: expected a writable path; name "
            "another"
        ) from error


def load(path: Path | str) -> Scenario:
    """Read a scenario from a file or a link. Raises InputError if it is not a scenario, has unknown
    keys, or has another version."""
    if isinstance(path, str) and is_link(path):
        from simulator.scenario.text.link import scenario_of_link  # that module imports this one

        return scenario_of_link(path)
    from simulator.scenario.text.file import read  # that module imports this one

    return read(Path(path))
