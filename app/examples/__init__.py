"""Families of traces that the explorer opens with: its first prediction, and its lessons, need no
torch.

`python -m app.examples` makes them again, which a change of tracing or of a network asks for.
May import lessons and answers; no Qt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from app.answers.featured import NETWORKS
from app.lessons import packaged
from simulator.analysis.sweep import axis
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as card_of
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.gpu_class import seen
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_families import Line
from simulator.scenario.trace_source import give

FOLDER = Path(__file__).parent
FIRST = Scenario("bert-base", gpu="h200", batch=64, seq=128, dtype="bf16")
_INFERENCE = ("fp32", "bf16", "fp16", "autocast")
_TRAINING = ("fp32", "bf16", "autocast")
SERVED = ("llama3-8b", "llama3-8b-decode")
OTHER_CARDS = (("a100", "bf16"), ("mi300x", "bf16"), ("v100_sxm2_32", "fp16"))
"""A card of each kind that traces tell from the usual one, and the dtype that it serves in."""


def asks() -> Iterator[tuple[TraceRequest, GPU]]:
    """One for each file."""
    made: set[Path] = set()
    for scenario in (*_usual(), *_of_lessons()):
        found = resolve(scenario)
        ask = replace(found.ask, batch=None, seq=None)
        if file(ask) not in made:
            made.add(file(ask))
            yield ask, found.gpu
    for name in SERVED:
        for card, dtype in OTHER_CARDS:
            found = resolve(Scenario(name, gpu=card, dtype=dtype))
            yield replace(found.ask, batch=None, seq=None), found.gpu


def _usual() -> Iterator[Scenario]:
    for name in NETWORKS:
        yield from (Scenario(name, dtype=dtype) for dtype in _INFERENCE)
        if CATALOGUE[name].trains and name != "llama3-8b":  # half a megabyte
            yield from (Scenario(name, dtype=dtype, training=True) for dtype in _TRAINING)


def _of_lessons() -> Iterator[Scenario]:
    """Every scenario that a packaged lesson asks of a network."""
    for lesson in packaged():
        yield from (side.scenario for side in lesson.sides)
        if lesson.line is not None and lesson.line.name not in ("batch", "seq"):
            first = lesson.sides[0].scenario
            along = axis(first, lesson.line.name)
            yield from (along.at(first, value) for value in lesson.line.values)


def line(ask: TraceRequest) -> Line:
    """Along what the families of a network are fitted: batch, and sequence where it has one."""
    return ("both", None) if CATALOGUE[ask.network].seq is not None else ("batch", None)


def _kind(ask: TraceRequest, gpu: GPU | None) -> str | None:
    """The card of `OTHER_CARDS` whose traces a GPU shares; None for a GPU like the usual one, ""
    for one like no packaged card."""
    looks = seen(ask.network, gpu) if gpu else _looks(ask.network, "h200")
    if looks == _looks(ask.network, "h200"):
        return None
    return next((card for card, _ in OTHER_CARDS if _looks(ask.network, card) == looks), "")


@cache
def _looks(network: str, card: str) -> tuple[Any, ...]:
    return seen(network, card_of(card))


def file(ask: TraceRequest, gpu: GPU | None = None) -> Path:
    """Where the families of an ask lie, or would: on this GPU, or on the usual one."""
    phase = "training" if ask.training else "inference"
    own = [f"{name}={value}" for name, value in ask.sizes] + [ask.sdpa or ""]
    kind = _kind(ask, gpu)
    own.append("unknown" if kind == "" else kind or "")
    parts = [ask.network, *filter(None, own), ask.dtype, phase, "families"]
    return FOLDER / ".".join(parts)


def load(ask: TraceRequest, gpu: GPU) -> bool:
    """Take the packaged families of an ask; False where there are none for it."""
    known = ask.network in CATALOGUE and all(isinstance(value, int) for _, value in ask.sizes)
    if not known or not file(ask, gpu).is_file():
        return False
    scenario = Scenario(ask.network, dtype=ask.dtype, training=ask.training, sizes=dict(ask.sizes))
    usual, plain = resolve(scenario), replace(ask, batch=None, seq=None)
    if plain != replace(usual.ask, sdpa=ask.sdpa):
        return False
    try:
        give(plain, gpu, line(ask), file(ask, gpu))
    except InputError:
        return False
    return True
