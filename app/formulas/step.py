"""Formulas of the figures of the verdict, from the left."""

from __future__ import annotations

from app.answers.answer import Answer, BatchRegimes
from app.answers.figures import causes
from app.answers.kernel_times import OWN_FIGURES, has_own_figures
from app.answers.power import clocks, energy_sentence, is_above_limit, power_sentence
from app.formulas.formula import Formula
from app.formulas.memory import peak
from app.quantities import between, joules, number, percent, scaled, seconds
from simulator.prediction import REGIMES
from simulator.timing.power import Power

_TIERS = {
    "measured": "measured: this shape was timed on this GPU",
    "interpolated": "interpolated: between shapes that were timed on this GPU",
    "transferred": "transferred: this GPU's peaks, with the utilisation measured on another GPU",
    "datasheet": "datasheet: as transferred, but this GPU's software was never measured",
}


def regime(answer: Answer) -> Formula:
    """The formula of the regime: the one with the largest share."""
    p = answer.prediction
    parts = " + ".join(f"{percent(p.shares[r])} {r}" for r in REGIMES)
    return Formula(
        "Regime",
        "the largest of the three shares",
        f"{parts}: {p.regime}-bound",
        f"A share is a sensitivity: 1% more {_RATES[p.regime]} makes the step "
        f"{number(p.shares[p.regime], 2)}% faster.",
        "01-three-regimes",
    )


_RATES = {
    "compute": "FLOP/s",
    "memory": "bandwidth",
    "overhead": "speed of host, launches and starts",
}


def time(answer: Answer) -> Formula:
    """Time of a step: kernels and waiting."""
    p = answer.prediction
    waits = [f"{seconds(value)} {name}" for name, value in causes(p) if value > 0]
    low, high = (end / p.period_s if p.period_s else 1.0 for end in p.interval_s)
    return Formula(
        "Time of a step",
        "time in which a kernel runs + waiting",
        f"{' + '.join([f'{seconds(p.gpu_busy_s)} busy', *waits])} = {seconds(p.period_s)}",
        f"80% interval, from steps held out of the fit: {number(low, 2)} to {number(high, 2)} "
        "times this, "
        f"{between(*p.interval_s, p.period_s)}.",
        "06-cuda-graph",
    )


def throughput(answer: Answer) -> Formula:
    """Samples over time."""
    t, p, subject = answer.totals, answer.prediction, answer.subject
    samples = subject.batch * subject.forwards
    tokens, rate, means = p.trace.tokens, t.tokens_per_s, ""
    if tokens and rate and tokens != samples:
        means = f"{tokens:,} tokens / {seconds(p.period_s)} = {scaled(rate, '')} tokens/s"
    return Formula(
        "Throughput",
        "samples of a step / its time",
        f"{samples:,} / {seconds(p.period_s)} = {number(t.samples_per_s)} samples/s",
        means,
        "05-one-sentence-or-sixty",
    )


def utilisation(answer: Answer) -> Formula:
    """Time of the matrix products' FLOPs at their engines' peak, over the time of the step."""
    t, p = answer.totals, answer.prediction
    at_peak_s = t.utilisation * p.period_s
    of = f" at {scaled(t.peak_flops_per_s, 'FLOP/s')} ({t.engine})" if t.engine else ""
    return Formula(
        "Utilisation",
        "FLOPs of the matrix products / their engines' peak / time of a step",
        f"{scaled(t.product_flops, 'FLOP')}{of}, {seconds(at_peak_s)} / {seconds(p.period_s)} = "
        f"{percent(t.utilisation)}",
        f"The GPU is busy {percent(t.busy_share)} of the time, but busy does not mean computing.",
        "04-two-tenths-of-a-percent",
    )


def shift(answer: Answer, along: BatchRegimes | None) -> Formula:
    """The batch at which another share becomes the largest."""
    lines: list[str] = []
    if along is not None:
        for side, word in ((along.below, "up to"), (along.shift, "from")):
            if side is not None and side.after is not None:
                lines.append(f"{side.after}-bound {word} {side.first:,.0f}")
    here = f"{answer.prediction.regime}-bound at {answer.subject.batch:,}"
    return Formula(
        "Next regime shift",
        "the batch at which another share becomes the largest",
        ", ".join([here, *lines]) if lines else f"{here}, no other regime in the range",
        "Found by predicting many batches and bisecting between them.",
        "05-one-sentence-or-sixty",
    )


def power(answer: Answer) -> Formula:
    """The power, energy over time, and the clock that the power limit allows."""
    p = answer.prediction
    drawn = p.power
    if drawn is None:
        return Formula("Power", "energy of a step / its time", power_sentence(p))
    return Formula(
        "Power",
        "(idle power · time + V² · energy of arithmetic, L2 and launches + energy of DRAM) / time",
        f"{joules(drawn.joules)} / {seconds(p.period_s)} = {number(drawn.watts)} W; "
        f"{energy_sentence(p)}",
        _of_limit(drawn),
    )


def _of_limit(drawn: Power) -> str:
    """What the power limit does to a step."""
    limit = f"limit of {number(drawn.limit_w)} W"
    if not drawn.limited:
        return f"Within the {limit} at {clocks(drawn)}: nothing slows down."
    if is_above_limit(drawn):
        return f"Above the {limit} even at the lowest clock, {clocks(drawn)}."
    return (
        f"The {limit} holds the clock at {clocks(drawn)}, where the mean power settles just below "
        "it: compute-bound kernels slow down, memory-bound kernels hardly do."
    )


def trust(answer: Answer) -> Formula:
    """The sources of the kernels' times."""
    p = answer.prediction
    parts = " + ".join(f"{percent(share)} {name}" for name, share in p.tiers.items())
    missing = sum(p.unmodelled.values())
    missing_ops = f" {missing:,} ops are not modelled." if missing else ""
    tiers = "; ".join(_TIERS[name] for name in p.tiers if name in _TIERS)
    own = f", with {OWN_FIGURES}" if has_own_figures(p.gpu, p.profile) else ""
    return Formula(
        "Trust",
        "share of the busy time by the source of the kernel times",
        parts or "no kernels",
        f"{tiers}{own}.{missing_ops}",
    )


def metrics(answer: Answer, along: BatchRegimes | None) -> tuple[Formula, ...]:
    """Every figure of the verdict, from the left."""
    return (
        regime(answer),
        time(answer),
        throughput(answer),
        utilisation(answer),
        peak(answer.prediction),
        shift(answer, along),
        power(answer),
        trust(answer),
    )
