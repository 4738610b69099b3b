"""What the user asked, and its prediction: from options to a trace to an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator.prediction import Prediction
    from simulator.records import Trace

DATA_SIZES = (
    "bincount", "index", "item", "masked_select", "nonzero", "repeat_interleave", "unique",
)  # fmt: skip
"""The data-dependent ops whose answer can be given (simulator/tracing/sizes.py)."""

_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}


@dataclass(frozen=True)
class Scenario:
    """A question. None leaves a choice to the network, or to what its saved trace says."""

    network: str
    gpu: str = "h200"
    host: str | None = None
    mode: str = "eager"
    batch: int | None = None
    seq: int | None = None
    dtype: str | None = None
    training: bool | None = None
    optimizer: str | None = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    data_sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def trace_file(self) -> Path | None:
        """The saved trace that stands for the network, if it is one."""
        from simulator.networks.catalogue import CATALOGUE

        path = Path(self.network)
        foreign = self.network.startswith(("hf:", "timm:")) or ":" in path.name
        if self.network in CATALOGUE or foreign or path.suffix == ".py":
            return None
        named = path.suffix in (".json", ".rpt", ".msgpack")
        return path if named or path.is_file() else None


@dataclass(frozen=True)
class Subject:
    """What is predicted: its trace, and how to speak of it."""

    trace: Trace
    name: str
    batch: int
    seq: int | None
    dtype: str


Progress = Callable[[str], None]


def subject(scenario: Scenario, progress: Progress = lambda _: None) -> Subject:
    """Load and trace the network, or read its saved trace."""
    from simulator.hardware import gpu
    from simulator.hosts import host

    card = gpu(scenario.gpu)  # a mistyped name is answered before anything slow
    host(scenario.host)
    if scenario.trace_file is not None:
        return _saved(scenario, scenario.trace_file)
    from simulator.networks.catalogue import network

    if ":" not in scenario.network and not scenario.network.endswith(".py"):
        network(scenario.network)
    progress("importing torch")
    from simulator import trace
    from simulator.networks.loading import load

    dtype = scenario.dtype or "fp32"
    autocast = {"autocast": "bf16", "autocast-fp16": "fp16"}.get(dtype)
    training = bool(scenario.training)
    loaded = load(
        scenario.network, batch=scenario.batch, seq=scenario.seq, training=training,
        dtype="fp32" if autocast else dtype, sizes=scenario.sizes,
    )  # fmt: skip
    progress(f"tracing {loaded.facts.name}")
    optimizer = scenario.optimizer or "adamw"
    traced = trace(
        loaded.module, loaded.args, loaded.kwargs, gpu=card, autocast=autocast,
        phase="training" if training else "inference", sizes=scenario.data_sizes,
        optimizer=None if optimizer == "none" else optimizer,
    )  # fmt: skip
    facts = loaded.facts
    return Subject(traced, facts.name, facts.batch or traced.samples, facts.seq, dtype)


def predict(scenario: Scenario, found: Subject, progress: Progress = lambda _: None) -> Prediction:
    """The answer for a subject."""
    progress("predicting")
    from simulator import predict_trace

    return predict_trace(found.trace, gpu=scenario.gpu, host=scenario.host, mode=scenario.mode)


def _saved(scenario: Scenario, path: Path) -> Subject:
    from simulator.trace_file import load

    fixed = {
        "--batch": scenario.batch, "--seq": scenario.seq, "--dtype": scenario.dtype,
        "--train/--no-train": scenario.training, "--optimizer": scenario.optimizer,
        "--size": scenario.sizes or None, "--data-size": scenario.data_sizes or None,
    }  # fmt: skip
    given = [option for option, value in fixed.items() if value is not None]
    if given:
        raise InputError(
            f"{path} is a saved trace, in which this is fixed: leave {', '.join(given)} out, or "
            "name the network instead"
        )
    trace = load(path)
    name = path.name.removesuffix(".json").removesuffix(".msgpack").removesuffix(".rpt")
    each = divmod(trace.tokens, trace.samples) if trace.tokens and trace.samples else (0, 1)
    return Subject(trace, name, trace.samples, each[0] if each[1] == 0 else None, _dtype(trace))


def _dtype(trace: Trace) -> str:
    """The floating-point dtype in which most ops of a trace work."""
    signatures, rows = trace.signatures
    counts: dict[str, int] = {}
    for row in rows:
        for tensor in signatures[row].inputs[:1]:
            counts[tensor.dtype] = counts.get(tensor.dtype, 0) + 1
    known = {dtype: n for dtype, n in counts.items() if dtype in _SHORT}
    return _SHORT[max(known, key=lambda dtype: known[dtype])] if known else "no floats"


def sizes(options: list[str]) -> dict[str, Any]:
    """`--size name=value`: numbers, tuples such as 2,2,6,2, booleans, and words."""
    return {name: _value(text) for name, text in _pairs("--size", "width=512", options)}


def data_sizes(options: list[str]) -> dict[str, int]:
    """`--data-size name=rows`: whole numbers, for the ops whose result depends on data."""
    found: dict[str, int] = {}
    for name, text in _pairs("--data-size", "nonzero=640", options):
        if name not in DATA_SIZES:
            known = ", ".join(DATA_SIZES)
            raise InputError(f"unknown --data-size {name!r}: expected one of {known}")
        if not text.isdecimal():
            raise InputError(f"--data-size {name}={text}: expected a whole number, 0 or more")
        found[name] = int(text)
    return found


def _pairs(option: str, example: str, options: list[str]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for text in options:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name.isidentifier() and equals and value):
            raise InputError(f"{option} {text!r}: expected name=value, such as {example}")
        if name in found:
            raise InputError(f"{option} {name} is given twice: expected it once; remove one")
        found[name] = value
    return list(found.items())


def _value(text: str) -> Any:
    if "," in text:
        return tuple(_value(part.strip()) for part in text.strip("(),").split(","))
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
