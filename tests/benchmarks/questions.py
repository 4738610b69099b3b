"""Questions one after another, as a slider requests them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence

from simulator.analysis.advice import advise
from simulator.analysis.regimes import next_shift, regime_map
from simulator.analysis.seek import largest_batch
from simulator.analysis.sweep import sweep
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.benchmarks.timing import Row, timed

BERT = Scenario("bert-base", batch=8, seq=128, dtype="fp16")
LLAMA = Scenario("llama3-8b", batch=1, seq=2048, dtype="bf16", training=True)
SLIDERS = {
    "bandwidth": lambda i: {"times": 1.1 + i / 10},
    "tensor_peak": lambda i: {"times": 1.1 + i / 10},
    "host_speed": lambda i: {"times": 1.1 + i / 10},
    "launch_latency": lambda i: {"microseconds": 2.0 + i},
    "queue_depth": lambda i: {"launches": 64 << i},
    "cuda_graph": lambda i: {},
    "gpu": lambda i: {"to": "b200"},
    "precision": lambda i: {"dtype": "fp16"},
}


def whatifs() -> Iterator[Row]:
    """Predict again after one what-if on a traced network."""
    for base, required_s in ((BERT, 5e-3), (LLAMA, 20e-3)):
        predict(base)
        for name, arguments in SLIDERS.items():
            predict(apply(base, name, arguments(0)))  # the first prediction on a card or in a dtype
            yield timed(
                f"{base.network}: again after +{name}",
                lambda i, b=base, n=name, a=arguments: predict(apply(b, n, a(i))),
                9,
                required_s,
            )
    next_shift(BERT, "batch")  # this fits a family along the batch
    yield timed(
        "bert-base: at a new batch, from a family",
        lambda i: predict(apply(BERT, "batch", {"samples": 1000 + 37 * i})),
        9,
        5e-3,
    )


def advice() -> Iterator[Row]:
    """Every what-if that applies: all traced, then with traces from disk, then from memory."""
    for base in (BERT, LLAMA):
        with tempfile.TemporaryDirectory() as folder:
            for source in ("all traced", "traces from disk", "again"):
                if source != "again":
                    trace_source.forget()
                    trace_source.keep_on_disk(folder)
                yield timed(
                    f"{base.network}: advice, {source}",
                    lambda _, b=base: f"{len(advise(b).advice)} gain",
                    5 if source == "again" else 1,
                    2.0,
                )
            trace_source.forget()


def searches() -> Iterator[Row]:
    """Search the regime shift, and the largest batch."""
    for name, run in {
        "next shift along batch": lambda: next_shift(BERT, "batch").sentence,
        "next shift along seq": lambda: next_shift(BERT, "seq").sentence,
        "largest batch": lambda: largest_batch(BERT).sentence,
    }.items():
        trace_source.forget()
        yield timed(f"bert-base: {name}, nothing traced", lambda _, r=run: r(), 1)
        yield timed(f"bert-base: {name}, again", lambda _, r=run: r(), 5)


def maps() -> Iterator[Row]:
    """A regime map over batch and sequence: with the fit of the family, then at new points, then at
    the same points, and at another clock.
    """
    trace_source.forget()
    yield timed("bert-base: family over batch and sequence fitted", lambda _: _map(BERT, 33, 2), 1)
    yield timed("bert-base: regime map of 32 × 32, new points", lambda _: _map(BERT, 1, 0), 1, 0.06)
    yield timed("bert-base: regime map of 32 × 32, again", lambda _: _map(BERT, 1, 0), 9, 0.06)
    yield timed(
        "bert-base: regime map of 32 × 32, again after +host_speed",
        lambda i: _map(apply(BERT, "host_speed", {"times": 1.1 + i / 10}), 1, 0),
        9,
        0.06,
    )


def _map(base: Scenario, first: int, shift: int) -> str:
    batches, seqs = range(first, first + 64, 2), [s - shift for s in range(16, 513, 16)]
    chart = regime_map(base, "batch", batches, "seq", seqs)
    return f"{len(chart.boundaries)} borders, {len(chart.refused)} refused"


def points() -> Iterator[Row]:
    """1,000 batches and sequences of a training step: schedule, memory and shares of each."""
    trace_source.forget()
    axes = {"batch": range(1, 26), "seq": range(128, 40 * 128 + 1, 128)}
    few = {"batch": range(1, 14), "seq": (100, 200)}
    yield timed("llama3-8b: family over batch and sequence fitted", lambda _: _swept(few), 1)
    yield timed("llama3-8b: 1,000 points of training, new", lambda _: _swept(axes), 1, 0.08)
    yield timed("llama3-8b: 1,000 points of training, again", lambda _: _swept(axes), 9, 0.08)


def _swept(axes: Mapping[str, Sequence[int]]) -> str:
    return f"{len(sweep(LLAMA, axes).refused)} refused"
