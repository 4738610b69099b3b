"""The packaged requests and their names. Each request is packaged for every class of cards with
equal traces."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.gpu_class import traced_properties
from simulator.scenario.resolve import gpu_of
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.traces.families import Line

_CLASSES = _FIRST, _SECOND, *_OTHERS = "h200", "a100", "v100_sxm2_32", "mi300x"
_OTHER_UNITS = ("b200", "l40s", "rtx4090")
"""Other cards of the first two classes, on which recurrent networks have different traces."""
CARDS = (*_CLASSES, *_OTHER_UNITS)
"""One card for each class of cards with equal traces."""

_INFERENCE = ("bf16", "fp16", "fp32", "autocast")
_TRAINING = ("bf16", "fp32", "autocast", "fp16")
_KERNELS = ("cudnn", "flash", "efficient")
"""Attention kernels that advice tries."""
UPDATES_OF = _FIRST
"""The card whose updates are packaged."""
_UPDATES = ("sgd", "adamw_fused", None)
"""Optimizers whose updates are packaged in addition to families of AdamW."""
_SERVED = ("llama3-8b", "llama3-8b-decode")
"""Networks that plans serve on cards of every class, in bf16, or in fp16 on cards without bf16."""
_SERVED_BY_FIRST = ("llama3-1b", "llama3-1b-decode", "llama3-70b", "llama3-70b-decode")
"""Networks that plans serve most often on cards of the first class."""
_LAYERS = tuple(
    {"sizes": tuple(sizes)}
    for layers in (1, 2)
    for sizes in ([("layers", layers)], [("layers", layers), ("merged", True)])
)
"""Sizes with which plans compute the time that an engine's fused kernels save in a layer."""
_RANKS = tuple(
    {"sizes": (*each["sizes"], ("ranks", ranks))} for ranks in (2, 4, 8) for each in _LAYERS
)
"""Sizes of one rank, with which plans compute the step of a replica over several GPUs."""
_SPLIT = ("llama3-70b", "llama3-70b-decode")
"""Networks that plans split most often."""
_PLAN_DTYPES = {"v100_sxm2_32": "fp16", "mi300x": "bf16"}

_VARIANTS: tuple[tuple[str, dict[str, Any], str, bool], ...] = (
    *(("chain", {"sizes": (("n", n),)}, "fp32", False) for n in (1, 2)),
    *(
        ("multiply-adds", {"sizes": (("n", n),)}, "fp32", False)
        for n in (1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 96, 128)
    ),
    ("gpt2", {"sdpa": "math"}, "fp32", True),
)
"""Requests of lessons that differ from the default, for the first card."""

_TOO_LARGE = (
    "llama3-70b*", "llama3-8b*.training", "mixtral.*", "gpt-oss-*", "qwen3-30b*", "minimax-m2*",
)  # fmt: skip
"""Patterns of networks and phases that need more memory than the largest card of V100's class."""
_MIXTURES = ("gpt-oss-20b", "gpt-oss-120b", "qwen3-30b", "minimax-m2")
OMITTED = {
    "mamba2-130m.*.training.*": "a fit takes 51 traces, which is several minutes",
    "deepseek-v3*": "served on several GPUs only; a fit takes minutes",
    **{
        f"{name}*.{rest}": "served in bf16; a fit takes a minute"
        for name in _MIXTURES
        for rest in ("fp16.*", "fp32.*", "autocast.*", "bf16.training.*")
    },
    **{f"{pattern}.v100_sxm2_32": "needs more than 32 GB" for pattern in _TOO_LARGE},
}
"""Patterns of names that are not packaged, with the reason; users trace these themselves."""


def requests() -> Iterator[tuple[TraceRequest, str]]:
    """Each packaged request with its card, the most common first."""
    for card in (_FIRST, _SECOND):
        for training, dtypes in ((False, _INFERENCE), (True, _TRAINING)):
            for dtype in dtypes:
                for network, entry in CATALOGUE.items():
                    if entry.trains or not training:
                        yield request_of(network, dtype, training), card
    for network, more, dtype, training in _VARIANTS:
        yield request_of(network, dtype, training, **more), _FIRST
    for network in _SERVED:
        for card in _OTHERS:
            yield request_of(network, _PLAN_DTYPES[card], False), card
        for card in _CLASSES:
            for sizes in _LAYERS:
                yield request_of(network, _PLAN_DTYPES.get(card, "bf16"), False, **sizes), card
    for network in _SERVED_BY_FIRST:
        for sizes in _LAYERS:
            yield request_of(network, "bf16", False, **sizes), _FIRST
    for network in _SPLIT:
        for sizes in _RANKS:
            yield request_of(network, "bf16", False, **sizes), _FIRST
        for sizes in (*_LAYERS, *_RANKS):
            yield request_of(network, "bf16", False, **sizes), _SECOND
        for sizes in ({}, *_LAYERS):  # its links are unknown, so it needs no ranks
            yield request_of(network, "bf16", False, **sizes), "mi300x"

    yield from _tried_by_advice()


def _tried_by_advice() -> Iterator[tuple[TraceRequest, str]]:
    """Requests that advice tries and that differ from the default: other optimizers, other
    attention kernels, and cards of every class."""
    for training, dtypes in ((False, _INFERENCE), (True, _TRAINING)):
        for dtype in dtypes:
            for network, entry in CATALOGUE.items():
                if training and not entry.trains:
                    continue
                for optimizer in _UPDATES if training else ():
                    yield request_of(network, dtype, True, optimizer=optimizer), _FIRST
                recurrent = _OTHER_UNITS if ".recurrent:" in entry.factory else ()
                for card in (*_OTHERS, *recurrent):
                    if (network, dtype, training, card) not in _listed_elsewhere():
                        yield request_of(network, dtype, training), card
                for kernel in _KERNELS:
                    yield request_of(network, dtype, training, sdpa=kernel), _FIRST


@cache
def _listed_elsewhere() -> frozenset[tuple[str, str, bool, str]]:
    """Default requests that plans list."""
    served = ((network, card) for network in _SERVED for card in _OTHERS)
    return frozenset(
        (network, _PLAN_DTYPES[card], False, card)
        for network, card in (*served, *((network, "mi300x") for network in _SPLIT))
    )


def omission(name: str) -> str | None:
    """The reason why a request is not packaged; None if it is."""
    return next((why for pattern, why in OMITTED.items() if fnmatchcase(name, pattern)), None)


def request_of(network: str, dtype: str, training: bool, **more: Any) -> TraceRequest:
    """A request for a network with its default sizes at any batch and sequence."""
    fields: dict[str, Any] = {"optimizer": "adamw", "sizes": (), "data_sizes": ()} | more
    return TraceRequest(network, None, None, dtype, training, **fields)


def name_of(request: TraceRequest) -> str | None:
    """The name under which a request may be packaged, without the card: "gpt2.bf16.training"; None
    if such a request is never packaged."""
    plain = request_of(
        request.network,
        request.dtype,
        request.training,
        optimizer=request.optimizer if request.training else "adamw",
        sizes=request.sizes,
        sdpa=request.sdpa,
    )
    if request != plain or not all(isinstance(value, int) for _, value in request.sizes):
        return None
    own = [*(f"{name}={value}" for name, value in request.sizes), request.sdpa or ""]
    own.append("" if request.optimizer == "adamw" else request.optimizer or "none")
    phase = "training" if request.training else "inference"
    return ".".join([request.network, *filter(None, own), request.dtype, phase])


def card_of(network: str, gpu: GPU) -> str | None:
    """The card of `CARDS` whose traces of a network equal those of a GPU; None if no card's traces
    equal them."""
    own = traced_properties(network, gpu)
    return next((card for card in CARDS if _card_properties(network, card) == own), None)


@cache
def _card_properties(network: str, card: str) -> tuple[Any, ...]:
    return traced_properties(network, gpu_of(card))


def line_of(network: str) -> Line:
    """The line along which a network's families are fitted: batch, and sequence if it has one."""
    return ("both", None) if CATALOGUE[network].seq is not None else ("batch", None)
