"""Advice: try every applicable what-if, and rank them by their end-to-end gain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from simulator.analysis.cautions import caution, warning
from simulator.analysis.fusible import fusible
from simulator.analysis.sweep import Predictor
from simulator.analysis.trials import TRIALS, By, reason
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import Prediction
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Applied, Scenario, predict
from simulator.scenario.text.command import as_command
from simulator.scenario.trial import Trial
from simulator.timing.profile import learned
from simulator.whatif import apply, parse, to_text

__all__ = ["Advice", "Advised", "By", "advise", "apply_all", "sample_s"]
_VISIBLE = 0.005  # advice whose gain is a smaller share of the step is left out
_CROSSED = 3  # how many machines and code changes advice by money combines


@dataclass(frozen=True)
class Advice:
    """A what-if that saves time, memory or money, or a machine together with code changes. Figures
    are those of the step predicted with it. Gains are per sample, so that different batches can be
    compared.

    gain             share of time (memory, money) saved: 0.3 is 30% less
    period_s         the new step, with its 80% interval
    local_gain       share of the GPU's busy time per sample saved
    usd_per_million  USD per million samples; None without a price
    warning          why a local gain does not shorten the step, or ""
    command          the command that applies it; empty if the GPU has edited figures
    applied          the what-ifs that it adds
    caution          why the gain on another GPU is uncertain, or ""
    """

    whatif: str
    gain: float
    period_s: float
    interval_s: tuple[float, float]
    sample_s: float
    local_gain: float
    memory_gain: float
    money_gain: float | None
    usd_per_million: float | None
    fits: bool
    cause: str
    warning: str
    command: str
    changes: Literal["code", "machine", "what is computed"]
    scenario: Scenario
    applied: tuple[Applied, ...] = ()
    caution: str = ""


@dataclass(frozen=True)
class Advised:
    """`advice` in order of gain, preceded by the changes that make the step fit in memory;
    `hidden`: advice whose local gain does not shorten the step; `refused`: the reason for each
    what-if that does not apply."""

    baseline: Prediction
    by: By
    advice: tuple[Advice, ...]
    hidden: tuple[Advice, ...]
    refused: dict[str, str]


def advise(
    scenario: Scenario,
    by: By = "time",
    predictor: Predictor = predict,
    trials: Iterable[Trial] = TRIALS,
    prices: Mapping[str, float] | None = None,
) -> Advised:
    """Try all what-ifs that apply to a scenario.

    `prices` are USD per hour by GPU id; by default those in the GPU files. Raises InputError if
    `by` is unknown, a price is not above 0, or `by` is money and the GPU has no price.
    """
    if by not in ("time", "memory", "money"):
        raise InputError(f"advice by {by!r}: expected time, memory or money")
    prices = prices or {}
    for card, price in prices.items():
        if not (price > 0 and isfinite(price)):
            raise InputError(f"the price of {card} is {price:g}: expected more than 0 USD an hour")
    base = predictor(scenario)
    if by == "money" and _price(base.gpu, prices) is None:
        raise InputError(
            f"advice by money: {base.gpu.name} has no price: expected USD an hour; give it with "
            "--price, or as price_usd in a GPU file of your own, or rank by time"
        )
    dtype = resolve(scenario).request.dtype
    tried: list[Advice] = []
    refused: dict[str, str] = {}
    listed = tuple(trials)
    more = *_batches(scenario), *_fusible(base), *_priced(prices, listed)
    for trial in (*listed, *more):
        name, arguments = parse(trial.text)
        try:
            if trial.dtypes and dtype not in trial.dtypes:
                continue
            changed = apply(scenario, name, arguments)
            if changed == scenario:
                continue
            p = predictor(changed)
            if by == "money":
                _sold(base.gpu, p.gpu, trial, prices)
            tried.append(_advice(scenario, changed, base, p, trial, by, prices))
        except InputError as error:
            refused[trial.text] = str(error)
    if by == "money":
        tried += _crossed(scenario, base, tried, predictor, prices)
    tried.sort(key=lambda a: (not a.fits, -a.gain, a.whatif))
    gaining = tuple(a for a in tried if a.gain > _VISIBLE)
    hidden = tuple(a for a in tried if a.warning and a.gain <= _VISIBLE)
    return Advised(base, by, gaining, hidden, refused)


def _crossed(
    scenario: Scenario,
    base: Prediction,
    tried: Sequence[Advice],
    predictor: Predictor,
    prices: Mapping[str, float],
) -> list[Advice]:
    """The machines that cost least per sample, each with the best code changes: first one change,
    then a second change for the best of these pairs. Combinations that gain less than one of their
    parts are left out."""
    order = sorted(tried, key=lambda a: -a.gain)
    codes = [a for a in order if a.changes == "code" and a.gain > _VISIBLE and a.fits][:_CROSSED]
    cards = [a for a in order if a.whatif.startswith("+gpu=")][:_CROSSED]

    def crossed(first: Advice, second: Advice) -> Advice | None:
        applied = *first.applied, *second.applied
        try:
            changed = apply_all(scenario, (first, second))
            if changed == first.scenario:
                return None
            p = predictor(changed)
        except InputError:  # the two exclude each other
            return None
        trial = Trial(" ".join(map(to_text, applied)), (), "", "machine")
        both = _advice(scenario, changed, base, p, trial, "money", prices, applied)
        return both if both.gain > max(first.gain, second.gain) + _VISIBLE else None

    pairs = [both for card in cards for code in codes if (both := crossed(card, code))]
    if not pairs:
        return []
    best = max((pair for pair in pairs if pair.fits), key=lambda a: a.gain, default=pairs[0])
    rest = [code for code in codes if code.applied[0].name != best.applied[-1].name]
    return pairs + [more for code in rest if (more := crossed(best, code))]


def _batches(scenario: Scenario) -> list[Trial]:
    """The scenario at two and four times its batch, if the batch is known."""
    request = resolve(scenario).request
    entry = CATALOGUE.get(request.network)
    batch = request.batch or (entry and entry.batch)
    if not batch or request.saved:
        return []

    how = "more samples share each launch and each pass over the weights"
    return [Trial(f"+batch={times * batch}", (), how, "code") for times in (2, 4)]


def _fusible(base: Prediction) -> list[Trial]:
    """The adjacent ops that save the most time as one kernel."""
    patterns = fusible(base, learned(base.gpu.id))
    return [Trial(f"+fuse={p.ops}", ("memory",), p.how, "code") for p in patterns]


def _price(card: GPU, prices: Mapping[str, float]) -> float | None:
    """USD per hour of a GPU: from `prices` if given, else from its file; None if unknown."""
    return prices.get(card.id) if prices else card.price_usd


def _priced(prices: Mapping[str, float], trials: Sequence[Trial]) -> list[Trial]:
    """Trials of the GPUs that have a price and are not in `trials`."""
    known = {trial.text for trial in trials}
    texts = [text for card in prices if (text := f"+gpu={card}") not in known]
    return [Trial(text, (), "", "machine") for text in texts]


def _sold(old: GPU, new: GPU, trial: Trial, prices: Mapping[str, float]) -> None:
    """Raise InputError if a machine has no price."""
    if trial.changes == "machine" and new.id == old.id:
        raise InputError("a GPU with changed figures has no price: expected an unchanged GPU")
    if _price(new, prices) is None:
        raise InputError(
            f"{new.name} has no price: expected USD an hour; give it as --price {new.id}=USD"
        )


def sample_s(p: Prediction) -> float:
    """Seconds per sample if steps run back to back."""
    return p.period_s / max(p.trace.samples, 1)


def _advice(
    scenario: Scenario,
    changed: Scenario,
    base: Prediction,
    p: Prediction,
    trial: Trial,
    by: By,
    prices: Mapping[str, float],
    applied: tuple[Applied, ...] = (),
) -> Advice:
    time = _saved(sample_s(base), sample_s(p))
    memory = _saved(_need(base), _need(p))
    money = million = None
    before, after = _price(base.gpu, prices), _price(p.gpu, prices)
    if before and after:  # cost per sample = price · seconds per sample
        money = _saved(before * sample_s(base), after * sample_s(p))
        million = after / 3600 * sample_s(p) * 1e6 if prices else None
    local = _saved(
        base.gpu_busy_s / max(base.trace.samples, 1), p.gpu_busy_s / max(p.trace.samples, 1)
    )
    cause = reason(trial, base, p, by)
    if by == "money" and before and after and before != after:
        cause = _bargain(after / before, sample_s(p) / sample_s(base))
    applied = applied or (changed.whatifs[-1],)
    gain = {"time": time, "memory": memory, "money": money or 0.0}[by]
    return Advice(
        whatif=" ".join(map(to_text, applied)),
        gain=gain,
        period_s=p.period_s,
        interval_s=p.interval_s,
        sample_s=sample_s(p),
        local_gain=local,
        memory_gain=memory,
        money_gain=money,
        usd_per_million=million,
        fits=p.fits,
        cause=cause,
        warning=warning(base, p, time, local),
        command=_command(changed),
        changes=trial.changes,
        scenario=changed,
        applied=applied,
        caution=caution(base, p),
    )


def _bargain(price: float, time: float) -> str:
    """Why another machine costs less per sample. `price` is the ratio of its price per hour to that
    of the scenario's machine, `time` the ratio of the times per sample."""
    costs = f"an hour costs {abs(price - 1):.0%} {'less' if price < 1 else 'more'}"
    takes = f"a sample takes {abs(time - 1):.0%} {'less' if time < 1 else 'longer'}"
    return f"{costs}, and {takes}" if price < 1 else f"{takes}, and {costs}"


def _saved(before: float, after: float) -> float:
    return 1 - after / before if before else 0.0


def _need(p: Prediction) -> float:
    return float(p.peak_memory_bytes + p.workspace_bytes)


def _command(scenario: Scenario) -> str:
    """The command that predicts a scenario; empty for a GPU without a name."""
    return "" if isinstance(scenario.gpu, Mapping) else as_command(scenario, "whatif")


def apply_all(scenario: Scenario, chosen: Sequence[Advice]) -> Scenario:
    """Apply several pieces of advice. Raises InputError if they exclude each other."""
    for advice in chosen:
        for applied in advice.applied:
            scenario = apply(scenario, applied.name, applied.arguments)
    return scenario
