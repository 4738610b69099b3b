"""The vocabulary of lessons: figures of a prediction, one decorated function each.

A lesson's file holds no code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from app.answers.cluster.answer import ClusterAnswer
from app.answers.figures import PRODUCTS
from app.answers.groups import short_dtype
from app.lessons.cluster_words import FIGURES, Figures
from app.quantities import count_of, data, number, percent, plain, scaled, seconds
from simulator.prediction import Kernel, Prediction
from simulator.timing.rates import peak_flops_per_s

Figure = Callable[[Prediction], float]
Follows = Literal[-1, 0, 1]


@dataclass(frozen=True)
class Word:
    """A figure with its text. `follows` is 1 if it grows with the time of the step, -1 if it falls,
    0 if it does not depend on it; its interval derives from that. A `share` is between 0 and 1."""

    name: str
    alone: Figure
    text: Callable[[float], str]
    says: str
    follows: Follows = 0
    share: bool = False

    def of(self, p: Figures) -> float:
        """The figure of a step, on one GPU or over several."""
        return FIGURES[self.name](p) if isinstance(p, ClusterAnswer) else self.alone(p)

    def interval(self, p: Figures) -> tuple[float, float] | None:
        """The 80% interval of the figure; None if it does not depend on the time."""
        if not self.follows or not p.period_s:
            return None
        value, bounds = self.of(p), [bound / p.period_s for bound in p.interval_s]
        ends = [value * b if self.follows > 0 else value / b for b in bounds]
        return min(ends), max(ends)


WORDS: dict[str, Word] = {}


def _word(
    text: Callable[[float], str], follows: Follows = 0, share: bool = False
) -> Callable[[Figure], Figure]:
    def decorate(function: Figure) -> Figure:
        name, says = function.__name__, (function.__doc__ or "").strip().rstrip(".")
        WORDS[name] = Word(name, function, text, says, follows, share)
        return function

    return decorate


def _flops(value: float) -> str:
    return scaled(value, "FLOP")


def _rate(value: float) -> str:
    return scaled(value, "FLOP/s")


def _bandwidth(value: float) -> str:
    return scaled(value, "B/s")


def _percent(value: float) -> str:
    """A share as text, with a decimal digit if it is small: "0.2%"."""
    return f"{number(100 * value, 1 if value < 0.01 else 2)}%" if value < 0.1 else percent(value)


@_word(seconds, 1)
def period(p: Prediction) -> float:
    """Time of a step."""
    return p.period_s


@_word(seconds, 1)
def per_sample(p: Prediction) -> float:
    """Time per sample."""
    return p.period_s / max(1, p.trace.samples)


@_word(lambda v: count_of(v, "samples/s"), -1)
def throughput(p: Prediction) -> float:
    """Samples per second."""
    return p.trace.samples / p.period_s if p.period_s else 0.0


@_word(seconds)
def host(p: Prediction) -> float:
    """Host time of a step."""
    return p.host_s


@_word(seconds)
def gpu_busy(p: Prediction) -> float:
    """Time of a step in which a kernel runs."""
    return p.gpu_busy_s


@_word(seconds)
def idle(p: Prediction) -> float:
    """Time of a step in which the GPU waits for the host."""
    return p.idle.host_s + p.idle.sync_s


@_word(plain)
def kernels(p: Prediction) -> float:
    """Kernels of a step."""
    return float(p.kernel_count)


@_word(seconds)
def each_kernel(p: Prediction) -> float:
    """Mean time of a kernel."""
    return p.gpu_busy_s / max(1, p.kernel_count)


@_word(seconds)
def each_launch(p: Prediction) -> float:
    """Mean host time per kernel."""
    return p.host_s / max(1, p.kernel_count)


@_word(_flops)
def flops(p: Prediction) -> float:
    """FLOPs of a step."""
    return float(p.flops)


@_word(data)
def traffic(p: Prediction) -> float:
    """Bytes that the kernels of a step read and write."""
    each = [float(w.bytes) for w in p.works]
    rows: list[int] = p.columns.work_of.tolist()
    return sum(each[row] for row in rows)


@_word(lambda v: f"{number(v)} FLOP/B")
def intensity(p: Prediction) -> float:
    """FLOPs per byte."""
    moved = traffic(p)
    return p.flops / moved if moved else 0.0


@_word(_rate, -1)
def achieved(p: Prediction) -> float:
    """FLOPs per second."""
    return p.flops / p.period_s if p.period_s else 0.0


@_word(_bandwidth, -1)
def moved(p: Prediction) -> float:
    """Bytes per second."""
    return traffic(p) / p.period_s if p.period_s else 0.0


@_word(_bandwidth)
def bandwidth(p: Prediction) -> float:
    """Bandwidth of the GPU's memory by its data sheet."""
    return p.gpu.bandwidth_bytes_per_s


@_word(_rate)
def peak(p: Prediction) -> float:
    """Peak of the engine that does most of the FLOPs."""
    return peak_flops_per_s(p.gpu, *_engine(p))


@_word(lambda v: f"{number(v)} FLOP/B")
def ridge(p: Prediction) -> float:
    """FLOPs per byte above which the peak, not memory, is the limit."""
    return peak(p) / p.gpu.bandwidth_bytes_per_s


@_word(seconds)
def at_peak(p: Prediction) -> float:
    """Time that the products' FLOPs would take at their engines' peaks; that of all FLOPs in a step
    without products.
    """
    rows: list[int] = p.columns.work_of.tolist()
    works = [p.works[row] for row in rows]
    counted = [w for w in works if w.family in PRODUCTS] or works
    return sum(w.computed_flops / peak_flops_per_s(p.gpu, w.engine, w.dtype) for w in counted)


@_word(_percent, -1, share=True)
def utilisation(p: Prediction) -> float:
    """Achieved share of the peak."""
    return at_peak(p) / p.period_s if p.period_s else 0.0


@_word(data)
def memory(p: Prediction) -> float:
    """GPU memory at its peak."""
    return float(p.peak_memory_bytes + p.workspace_bytes)


@_word(data)
def weights(p: Prediction) -> float:
    """Bytes of the weights."""
    return float(p.weight_bytes)


@_word(plain)
def batch(p: Prediction) -> float:
    """Samples of a step."""
    return float(p.trace.samples)


@_word(_percent, share=True)
def compute(p: Prediction) -> float:
    """Share of the step limited by compute."""
    return p.shares["compute"]


@_word(_percent, share=True)
def bytes_share(p: Prediction) -> float:
    """Share of the step limited by memory."""
    return p.shares["memory"]


@_word(_percent, share=True)
def overhead(p: Prediction) -> float:
    """Share of the step limited by overhead."""
    return p.shares["overhead"]


@_word(_percent, share=True)
def other_flops(p: Prediction) -> float:
    """Share of the FLOPs outside matrix products."""
    return 1 - _products(p, lambda k: float(k.flops))


@_word(_percent, share=True)
def other_time(p: Prediction) -> float:
    """Share of the kernel time outside matrix products."""
    return 1 - _products(p, lambda k: k.duration_s)


def _of_cluster(
    name: str, alone: float, text: Callable[[float], str], says: str, follows: Follows = 0
) -> None:
    """A word for steps over several GPUs, with its figure on one GPU."""
    share = text is _percent
    WORDS[name] = Word(name, lambda p: alone, text, says, follows, share)


_of_cluster("gpus", 1.0, plain, "Number of GPUs")
_of_cluster("moving", 0.0, seconds, "Time of a step in which data moves between GPUs", 1)
_of_cluster("exposed", 0.0, seconds, "Part of the time in which data moves and no kernel runs", 1)
_of_cluster("communication", 0.0, _percent, "Share of the step limited by links between GPUs")
_of_cluster("bubble", 0.0, _percent, "Share of all GPUs' time in which they wait for each other")


def _products(p: Prediction, of: Callable[[Kernel], float]) -> float:
    whole = sum(of(k) for k in p.kernels)
    return sum(of(k) for k in p.kernels if k.family in PRODUCTS) / whole if whole else 0.0


def _engine(p: Prediction) -> tuple[str, str]:
    flops: dict[tuple[str, str], int] = {}
    for k in p.kernels:
        flops[k.engine, k.dtype] = flops.get((k.engine, k.dtype), 0) + k.flops
    return max(flops, key=lambda e: flops[e], default=("vector", "float32"))


def _gpu(p: Prediction) -> str:
    return p.gpu.name


def _regime(p: Figures) -> str:
    return f"{p.regime}-bound"


def _dtype(p: Prediction) -> str:
    return short_dtype(_engine(p)[1])


def _interval(p: Figures) -> str:
    return f"{seconds(p.interval_s[0], 2)} to {seconds(p.interval_s[1], 2)}"


NAMES: dict[str, Callable[[Any], str]] = {
    "gpu": _gpu,
    "regime": _regime,
    "dtype": _dtype,
    "interval": _interval,
}
"""Words whose value is text."""
