"""What the user asked, and its prediction: from options to a trace to an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.errors import InputError
from simulator.inductor import RefusalError, exact
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.module_pattern import ALL
from simulator.scenario.predict import predicted
from simulator.scenario.registry import named
from simulator.scenario.resolved import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import facts, plain, traced
from simulator.whatif import to_text

if TYPE_CHECKING:
    from simulator.analysis.compare import Waterfall
    from simulator.prediction import Prediction
    from simulator.records import Trace
    from simulator.scenario.scenario import Applied

__all__ = [
    "DATA_SIZES", "Scenario", "Subject", "answered", "data_sizes", "heading_of", "predict",
    "predict_exactly",    "relabelled", "sizes", "subject", "takes_sequence", "to_full_text",
]  # fmt: skip

DATA_SIZES = (
    "bincount",
    "index",
    "item",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique",
)
"""The data-dependent ops whose answer can be given (simulator/tracing/sizes.py)."""

NO_EXACT_ANSWER = "the real compiler gave no answer, the rules do"
"""How a note begins where --exact was asked and the rules answered."""

_SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}


@dataclass(frozen=True)
class Subject:
    """What is predicted: its trace, and how to speak of it. `whatifs` are spelled as commands
    write them; a step takes `forwards` batches (gradient accumulation)."""

    trace: Trace
    name: str
    batch: int
    seq: int | None
    dtype: str
    whatifs: tuple[str, ...] = ()
    forwards: int = 1


Progress = Callable[[str], None]


def subject(scenario: Scenario, progress: Progress = lambda _: None) -> Subject:
    """Load and trace the network, or read its saved trace."""
    from app.answers.given_sizes import check_data_sizes, check_sizes

    if scenario.trace_file is not None:
        _refuse_fixed(scenario, scenario.trace_file)
    found = resolve(scenario)  # a mistyped name is answered before anything slow
    if not found.ask.saved:
        check_sizes(found)
        progress("importing torch")
        import simulator.tracing  # noqa: F401  # pyright: ignore[reportUnusedImport]

        progress(f"tracing {found.ask.network}")
    as_traced = plain(found.ask, found.gpu)
    check_data_sizes(scenario.data_sizes, as_traced)
    name, batch, seq = facts(found.ask, found.gpu)
    trace = traced(found)
    dtype = _dtype(as_traced) if found.ask.saved else found.ask.dtype
    theirs = not (found.ask.saved or found.ask.network in CATALOGUE)
    if theirs and seq is not None and not takes_sequence(as_traced, seq):
        seq = None
    words = tuple(to_full_text(applied) for applied in scenario.whatifs)
    forwards = max(1, trace.samples // max(1, as_traced.samples))
    return Subject(trace, name, batch or as_traced.samples, seq, dtype, words, forwards)


def to_full_text(applied: Applied) -> str:
    """A what-if as a command writes it, with the value that it is about: +precision=bf16."""
    text, known = to_text(applied), named(applied.name).parameters
    if "=" in text or not known or known[0].default in (None, ALL):
        return text
    value = known[0].default
    word = (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return f"{text}={word}"


def relabelled(fall: Waterfall, *scenarios: Scenario) -> Waterfall:
    """A waterfall whose steps name the values that their what-ifs are about."""
    full = {to_text(a): to_full_text(a) for s in scenarios for a in s.whatifs}
    full |= {f"without {short}": f"without {long}" for short, long in full.items()}
    steps = tuple(replace(s, label=full.get(s.label, s.label)) for s in fall.steps)
    return replace(fall, steps=steps)


def heading_of(found: Subject, scenario: Scenario, varied: tuple[str, ...]) -> str:
    """What is predicted, without what varies: "bert-base, seq 128, bf16, inference on H200"."""
    values = {"batch": found.batch, "seq": found.seq}
    parts = [found.name]
    parts += [f"{name} {value}" for name, value in values.items() if value and name not in varied]
    parts += [] if "precision" in varied else [found.dtype]
    parts += [] if "training" in varied else [found.trace.phase]
    parts += found.whatifs
    card = resolve(scenario).gpu.name
    return ", ".join(parts) + ("" if "gpu" in varied else f" on {card}")


def takes_sequence(trace: Trace, seq: int) -> bool:
    """Does an input of a trace have an axis of this length: any axis after the samples' of whole
    numbers (tokens), or one between samples and features?"""
    for op in trace.ops:
        for tensor, storage in zip(op.inputs, op.storages, strict=False):
            after = tensor.shape[1:] if "int" in tensor.dtype else tensor.shape[1:-1]
            if seq in after and trace.storages[storage].role == "input":
                return True
    return False


def predict(scenario: Scenario, found: Subject, progress: Progress = lambda _: None) -> Prediction:
    """The answer for a subject."""
    progress("predicting")

    return predicted(found.trace, resolve(scenario))


def predict_exactly(
    scenario: Scenario, found: Subject, progress: Progress = lambda _: None
) -> Prediction:
    """The answer for a compiled subject whose kernels the real compiler names; where it cannot,
    the usual answer with the reason among its notes."""
    try:
        made = exact(resolve(scenario), found.trace, progress)
    except RefusalError as refusal:
        p = predict(scenario, found, progress)
        why = f"{NO_EXACT_ANSWER}: {refusal}"
        return replace(p, notes=(why, *p.notes))
    progress("predicting")
    return predicted(made, resolve(scenario))


def answered(scenario: Scenario, progress: Progress = lambda _: None) -> tuple[Subject, Prediction]:
    """A scenario's subject and its answer."""
    found = subject(scenario, progress)
    return found, predict(scenario, found, progress)


def _refuse_fixed(scenario: Scenario, path: Path) -> None:
    fixed = {
        "--batch": scenario.batch,
        "--seq": scenario.seq,
        "--dtype": scenario.dtype,
        "--train/--no-train": scenario.training,
        "--optimizer": scenario.optimizer,
        "--size": scenario.sizes or None,
        "--data-size": scenario.data_sizes or None,
    }
    given = [option for option, value in fixed.items() if value is not None]
    if given:
        raise InputError(
            f"{path} is a saved trace, in which this is fixed: leave {', '.join(given)} out, or "
            "name the network instead"
        )


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
    for name, text in _pairs("--data-size", "nonzero=640", options, _named_place):
        if name.partition("@")[0] not in DATA_SIZES:
            known = ", ".join(DATA_SIZES)
            raise InputError(f"unknown --data-size {name!r}: expected one of {known}")
        if not text.isdecimal():
            raise InputError(f"--data-size {name}={text}: expected a whole number, 0 or more")
        found[name] = int(text)
    return found


def _named_place(name: str) -> bool:
    """Is it the name of an op, and maybe the line that asks for it: item@nets.py:31?"""
    op, at, place = name.partition("@")
    file, _, line = place.rpartition(":")
    return op.isidentifier() and (not at or bool(file and line.isdecimal()))


def _pairs(
    option: str,
    example: str,
    options: list[str],
    well_named: Callable[[str], bool] = str.isidentifier,
) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for text in options:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (well_named(name) and equals and value):
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
