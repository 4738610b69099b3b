"""The subject of a prediction: from options to a trace to a prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.answers.given_sizes import DATA_SIZES, check_data_sizes, check_sizes
from app.answers.precision import precision
from app.answers.stated_costs import is_stated, pairs
from app.printable import short
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.predict import predict_trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.whatif import scalar_of, to_full_text
from simulator.scenario.trace_source import facts, trace_resolved, trace_unedited

if TYPE_CHECKING:
    from simulator.prediction import Prediction
    from simulator.records import Trace
    from simulator.scenario.resolved import TraceRequest

__all__ = [
    "Scenario", "Subject", "data_sizes", "heading_of", "predict",
    "predict_exactly",    "sizes", "subject", "subject_of_trace", "takes_sequence",
    "to_full_text",
]  # fmt: skip

NO_EXACT_ANSWER = "the real compiler refused the program, so it is predicted by rules"
"""The start of the note that --exact fell back to rules."""

_NO_FLOATS = "no floats"
_MOST_DIGITS = 18  # the maximum for a number of rows


@dataclass(frozen=True)
class Subject:
    """A trace with the names to show for it. `whatifs` are written as on the command line; a step
    takes `forwards` batches (gradient accumulation)."""

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
    if scenario.trace_file is not None:
        _refuse_fixed(scenario, scenario.trace_file)
    resolved = resolve(scenario)  # report a typo before any slow work
    if not resolved.request.saved:
        check_sizes(resolved)
        progress(f"tracing {resolved.request.network}")
    as_traced = trace_unedited(resolved.request, resolved.gpu)
    check_data_sizes(scenario.data_sizes, as_traced)
    name, batch, seq = facts(resolved.request, resolved.gpu)
    trace = trace_resolved(resolved)
    dtype = dtype_of(resolved.request, as_traced)
    users_network = not (resolved.request.saved or resolved.request.network in CATALOGUE)
    if users_network and seq is not None and not takes_sequence(as_traced, seq):
        seq = None
    words = tuple(to_full_text(applied) for applied in scenario.whatifs)
    forwards = max(1, trace.samples // max(1, as_traced.samples))
    return Subject(trace, name, batch or as_traced.samples, seq, dtype, words, forwards)


def subject_of_trace(trace: Trace, name: str) -> Subject:
    """The subject of a trace that belongs to no scenario."""
    each, rest = divmod(trace.tokens or 0, max(1, trace.samples))
    seq = each if each and not rest else None
    return Subject(trace, name, trace.samples, seq, precision(trace) or _NO_FLOATS)


def heading_of(subject: Subject, scenario: Scenario, varied: tuple[str, ...]) -> str:
    """A title without the fields that vary: "bert-base, seq 128, bf16, inference on H200"."""
    values = {"batch": subject.batch, "seq": subject.seq}
    parts = [subject.name]
    parts += [f"{name} {value}" for name, value in values.items() if value and name not in varied]
    parts += [] if "precision" in varied else [subject.dtype]
    parts += [] if "training" in varied else [subject.trace.phase]
    parts += subject.whatifs
    card = resolve(scenario).gpu.name
    return ", ".join(parts) + ("" if "gpu" in varied else f" on {card}")


def takes_sequence(trace: Trace, seq: int) -> bool:
    """Whether an input of a trace has a sequence axis of this length. In tensors of whole numbers
    (tokens) this is any axis after the samples, in other tensors any axis between samples and
    features.
    """
    for op in trace.ops:
        for tensor, storage in zip(op.inputs, op.storages, strict=False):
            after = tensor.shape[1:] if "int" in tensor.dtype else tensor.shape[1:-1]
            if seq in after and trace.storages[storage].role == "input":
                return True
    return False


def predict(
    scenario: Scenario, subject: Subject, progress: Progress = lambda _: None
) -> Prediction:
    """Predict a subject."""
    progress("predicting")

    return predict_trace(subject.trace, resolve(scenario))


def predict_exactly(
    scenario: Scenario, subject: Subject, progress: Progress = lambda _: None
) -> Prediction:
    """Predict a compiled subject with the kernels of the real compiler.

    If the compiler refuses, predict by rules, with the reason among the notes.
    """
    from simulator.inductor import RefusalError, exact  # imported only for the real compiler

    try:
        trace = exact(resolve(scenario), subject.trace, progress)
    except RefusalError as refusal:
        p = predict(scenario, subject, progress)
        why = f"{NO_EXACT_ANSWER}: {refusal}"
        return replace(p, notes=(why, *p.notes))
    progress("predicting")
    return predict_trace(trace, resolve(scenario))


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
    options = [option for option, value in fixed.items() if value is not None]
    if options:
        raise InputError(
            f"{path} is a saved trace, which fixes {', '.join(options)}: remove the option, or "
            "name the network instead"
        )


def dtype_of(request: TraceRequest, trace: Trace) -> str:
    """The dtype of a step: that of the request, unless a file's network may choose its own."""
    if request.saved:
        return precision(trace) or _NO_FLOATS
    if request.network in CATALOGUE or request.dtype.startswith("autocast"):
        return request.dtype
    return precision(trace) or request.dtype


def sizes(options: list[str]) -> dict[str, Any]:
    """Parse `--size name=value`: numbers, tuples such as 2,2,6,2, booleans and words."""
    return {name: _value(text) for name, text in pairs("--size", "width=512", options)}


def data_sizes(options: list[str]) -> dict[str, int]:
    """Parse `--data-size name=rows`: whole numbers, for ops whose result depends on data."""
    rows: dict[str, int] = {}
    for name, text in pairs("--data-size", "nonzero=640", options, _named_place):
        if not is_stated(name) and name.partition("@")[0] not in DATA_SIZES:
            known = ", ".join(DATA_SIZES)
            raise InputError(f"unknown --data-size {name!r}: expected one of {known}")
        if not text.isdecimal():
            raise InputError(f"--data-size {name}={text}: expected a whole number of at least 0")
        if len(text) > _MOST_DIGITS:
            raise InputError(
                f"--data-size {name}={short(text)}: expected a whole number of at most "
                f"{_MOST_DIGITS} digits"
            )
        rows[name] = int(text)
    return rows


def _named_place(name: str) -> bool:
    """Whether a text names an op, optionally with the line that calls it (item@nets.py:31), or a
    stated figure of an op."""
    if is_stated(name):
        return True
    op, at, place = name.partition("@")
    file, _, line = place.rpartition(":")
    return op.isidentifier() and (not at or bool(file and line.isdecimal()))


def _value(text: str) -> Any:
    if "," in text:
        return tuple(_value(part.strip()) for part in text.strip("(),").split(","))
    return scalar_of(text)
