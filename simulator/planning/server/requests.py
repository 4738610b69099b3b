"""The requests of a load: arrival times and token lengths of prompts and outputs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.formats.limited import contents
from simulator.formats.toml import shown
from simulator.planning.spec import MOST_TOKENS, Lengths, Spec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_MOST_BYTES = 256 * 2**20
_ARRIVALS = ("arrival_s", "arrival", "timestamp")
_PROMPTS = ("prompt_tokens", "input_tokens", "prompt")
_OUTPUTS = ("output_tokens", "output")


@dataclass(frozen=True)
class Requests:
    """Arrivals in seconds, ascending; tokens of prompts and outputs [requests]."""

    arrival_s: Floats
    prompt: Ints
    output: Ints

    def __len__(self) -> int:
        return self.arrival_s.size

    @property
    def rate_per_s(self) -> float:
        """Requests per second."""
        span = float(self.arrival_s[-1] - self.arrival_s[0])
        return (len(self) - 1) / span if span > 0 else float("inf")

    def times(self, rate: float = 1.0, prompt: float = 1.0, output: float = 1.0) -> Requests:
        """The same requests at `rate` times the rate, with prompts and outputs scaled in length."""
        if rate == prompt == output == 1:
            return self
        return Requests(
            self.arrival_s / rate,
            np.maximum(np.round(self.prompt * prompt), 1).astype(np.int64),
            np.maximum(np.round(self.output * output), 1).astype(np.int64),
        )

    def thinned(self, replicas: int, seed: int) -> Requests:
        """The requests that a random router sends to the first of `replicas` replicas."""
        if replicas == 1:
            return self
        own = np.random.default_rng(seed).integers(replicas, size=len(self)) == 0
        own[0] |= not own.any()  # at least one request is simulated
        return Requests(self.arrival_s[own], self.prompt[own], self.output[own])


def requests(spec: Spec, count: int, replicas: int = 1) -> Requests:
    """About `count` requests of one replica: Poisson arrivals at the spec's rate, or the requests
    of its CSV file, faster or slower if the spec gives a rate as well."""
    work = spec.workload
    if work.requests_csv is not None:
        trace = read(work.requests_csv)
        times = spec.rate_per_s / trace.rate_per_s if spec.rate_per_s else 1.0
        return trace.times(rate=times).thinned(replicas, spec.seed)
    assert spec.rate_per_s and work.prompt and work.output
    draw = np.random.default_rng(spec.seed)
    gaps = draw.exponential(replicas / spec.rate_per_s, count)
    return Requests(
        np.cumsum(gaps), _drawn(work.prompt, count, draw), _drawn(work.output, count, draw)
    )


def _drawn(lengths: Lengths, count: int, draw: np.random.Generator) -> Ints:
    if lengths.kind == "fixed":
        tokens = np.full(count, lengths.mean)
    elif lengths.kind == "uniform":
        tokens = draw.uniform(lengths.low, lengths.high + 1, count)
    else:  # for this mean, mu = ln(mean) − sigma²/2
        mu = np.log(lengths.mean) - lengths.sigma**2 / 2
        tokens = draw.lognormal(mu, lengths.sigma, count)
    return np.maximum(tokens, 1).astype(np.int64)


def read(path: Path) -> Requests:
    """The requests of a CSV with columns arrival_s, prompt_tokens and output_tokens. Raises
    InputError if the file cannot be read, lacks a column, or has times or counts out of bounds."""
    raw = contents(path, "a request trace", _MOST_BYTES)
    try:
        rows = list(csv.DictReader(raw.decode("utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error) as error:
        reason = f"{error}" if isinstance(error, csv.Error) else "it is not UTF-8 text"
        raise InputError(f"{path}: {reason}: expected a CSV of requests; check the path") from None
    if not rows:
        raise InputError(f"{path}: has no requests: expected a row for each; add them")
    columns: list[Floats] = []
    for names, least, most in (
        (_ARRIVALS, 0.0, 1e15),
        (_PROMPTS, 1.0, MOST_TOKENS),
        (_OUTPUTS, 1.0, MOST_TOKENS),
    ):
        name = next((n for n in names if n in rows[0]), None)
        if name is None:
            raise InputError(
                f"{path}: no column {names[0]!r}: expected arrival_s, prompt_tokens "
                "and output_tokens; rename the column, or add it"
            )
        values: list[float] = []
        for line, row in enumerate(rows, 2):
            try:
                value = float(row[name])
            except (TypeError, ValueError):
                value = float("nan")
            if not least <= value <= most:
                upper = f" to {most:,.0f}" if most < 1e15 else ""
                raise InputError(
                    f"{path}, line {line}: {name} is {shown(row[name])}: expected a number "
                    f"from {least:g}{upper}; correct it"
                )
            values.append(value)
        columns.append(np.array(values))
    order = np.argsort(columns[0], kind="stable")
    arrival, prompt, output = (column[order] for column in columns)
    if arrival[-1] == arrival[0]:
        raise InputError(
            f"{path}: every request arrives at {arrival[0]:g} s: expected different times, since "
            "their rate is the load; correct the column"
        )
    return Requests(arrival - arrival[0], prompt.astype(np.int64), output.astype(np.int64))
