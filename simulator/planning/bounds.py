"""Rule out cards by their data sheet alone, before any step is predicted.

Products cannot exceed the card's peak, and each iteration reads the weights that a token uses.
"""

from __future__ import annotations

from math import exp, inf

from simulator.hardware.gpu import GPU
from simulator.planning.nearest import Shortage
from simulator.planning.server.replica import lengths
from simulator.planning.spec import SPLITS, Spec
from simulator.planning.step.traced_step import NetworkSize, sizes_of
from simulator.planning.wording import latency

BITS = {"bf16": 16, "fp16": 16, "fp32": 32, "fp8": 8, "int8": 8, "int4": 4, "nvfp4": 4.5}
"""Bits of a parameter, by precision; nvfp4 has an 8-bit scale per 16 values."""
_SURE = (
    # factor on the share of late tokens that is allowed: a margin for the spread of random draws
    1.2
)


def splits(spec: Spec, card: GPU, precision: str, size: NetworkSize) -> tuple[int, ...]:
    """Numbers of GPUs per replica to try: those of the spec, else 1 and the smallest number that
    holds the weights."""
    chosen = spec.candidates.splits_of(card.id)
    return chosen or tuple(sorted({1, _fewest(spec, card, precision, size) or 1}))


def _fewest(spec: Spec, card: GPU, precision: str, size: NetworkSize) -> int | None:
    """The smallest split whose GPUs hold the weights; None if not even the largest does."""
    need = size.parameters * BITS[precision] / 8
    room = card.memory_bytes * spec.workload.memory_share
    return next((split for split in SPLITS if need / split <= room), None)


def bound(
    spec: Spec, card: GPU, precision: str, size: NetworkSize, split: int = 1
) -> Shortage | None:
    """The reason why no number of these cards can serve in this precision and split, by the data
    sheet alone, or None."""
    if not (card.peak("tensor", "bf16") or card.peak("tensor", "fp16")):
        return Shortage("its file gives no half-precision tensor peak")
    if precision == "fp8" and not card.peak("tensor", "fp8"):
        return Shortage("it has no fp8 products")
    need = size.parameters * BITS[precision] / 8 / split
    room = card.memory_bytes * spec.workload.memory_share
    if need > room:
        fewest = _fewest(spec, card, precision, size)
        hint = "no split over GPUs of one node holds them"
        return Shortage(
            f"weights of {need / 2**30:.1f} GiB do not fit in {room / 2**30:.1f} GiB "
            f"({spec.workload.memory_share:.0%} of the memory); "
            f"{f'tp={fewest} holds them' if fewest else hint}",
            need / room if room else inf,
        )
    limit = spec.limits.per_token_s
    read_s = _read_s(card, precision, size) / split
    if limit is not None and read_s > limit:
        return Shortage(
            f"reading the weights once takes {latency(read_s)}, above the {latency(limit)} of "
            "limits.per_token",
            read_s / limit,
            "limits.per_token",
        )
    return None


def products_bound(spec: Spec, card: GPU, precision: str, size: NetworkSize) -> Shortage | None:
    """The shortage of cards whose products, at their peak, take longer than the load allows; None
    if there are enough. `bound` must have passed."""
    rate, prompt, output = lengths(spec)
    fresh = prompt * (1 - spec.workload.prefix_hit)
    cards = 2 * size.used * rate * (fresh + output) / _peak(card, precision)
    most = max(spec.candidates.counts_of(card.id))
    if cards <= most:
        return None
    needed = (
        f"the products alone need {cards:,.1f} cards at their peak, and {most} at most are tried"
    )
    return Shortage(needed, cards / most, "load.rate")


def prompt_bound(
    spec: Spec, card: GPU, precision: str, size: NetworkSize, split: int = 1
) -> str | None:
    """Why too many tokens are late on any number of these cards, though the weights fit; None if
    this bound does not rule them out.

    An iteration that reads a prompt takes at least p, the time of its products at the peak. Any
    other iteration takes at least w, the time to read the weights once plus the host's work. At λ
    requests per second, at least a share 1 − exp(−λ·w) of the iterations reads a prompt, and the
    decodes in them wait for it.
    """
    work, limit = spec.workload, spec.limits.per_token_s
    prompt = work.prompt
    if limit is None or prompt is None or prompt.kind != "fixed":
        return None
    fresh = prompt.mean * (1 - work.prefix_hit)
    if 2 * fresh > work.token_budget:
        return None  # prompts are cut into shorter pieces
    sizes = sizes_of(work.network)
    head = sizes.get("vocab", 0) * sizes.get("width", 0)
    inner = size.used - head  # the head runs only for the last token of a prompt
    prompt_s = 2 * max(inner, 0.0) * fresh / _peak(card, precision) / split
    read_s = _read_s(card, precision, size) / split
    count = max(n for n in spec.candidates.counts_of(card.id) if n % split == 0)
    rate = lengths(spec)[0] / (count // split)
    late = 1 - exp(-rate * (read_s + work.host_per_step_s))
    if prompt_s <= limit or late < _SURE * (1 - spec.limits.percentile / 100):
        return None
    return (
        f"the products of a prompt alone take {latency(prompt_s)} at its peak, above the time per "
        "token, and more tokens wait for a prompt than the percentile allows"
    )


def _read_s(card: GPU, precision: str, size: NetworkSize) -> float:
    """Seconds to read the weights that one token uses."""
    return size.used * BITS[precision] / 8 / card.bandwidth_bytes_per_s


def _peak(card: GPU, precision: str) -> float:
    """The peak FLOP/s of matrix products in a precision that the card supports."""
    names = {"fp8": ("fp8",), "nvfp4": ("fp4", "bf16", "fp16")}.get(precision, ("bf16", "fp16"))
    return next(peak for name in names if (peak := card.peak("tensor", name)))
