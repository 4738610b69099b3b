"""The texts that `validate` prints below its table and writes into the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill

import numpy as np

from calibration.outcome import Outcome, summary
from calibration.validate.batch_sweeps import Sweep
from calibration.validate.table.measuring_hosts import PAGE_WIDTH

WORST = 20
"""The number of steps that are printed without `--all`."""
_BEGIN, _END = "<!-- accuracy -->", "<!-- /accuracy -->"


def put(page: str, lines: str) -> str:
    """The page's text with these lines placed between its accuracy marks."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{lines}\n{_END}{after}"


def every_case(steps: Iterable[Outcome], calls: Iterable[Outcome], sweeps: Iterable[Sweep]) -> str:
    """A line for each figure of each case, for each operation of the single calls and for each
    sweep."""
    lines = ["predicted / measured, each case:", *_lines(list(steps))]
    lines += ["single calls by operation (cases, median error, p90, bias):"]
    lines += ["  ".join(each.cells()[:6]) for each in summary(calls)]
    lines += ["sweeps over the batch (measured / predicted):"]
    for sweep in sweeps:
        ends = " / ".join("none" if end is None else f"{end:.1f}" for end in sweep.crossings)
        lines.append(f"{sweep.name:42} overhead ends at batch {ends}")
    return "\n".join(lines)


def worst_cases(steps: Iterable[Outcome]) -> str:
    """The steps whose predicted periods are furthest from the measured ones, the worst first."""
    periods = sorted(_periods(steps), key=lambda o: -abs(np.log(o.ratio)))[:WORST]
    title = f"The {len(periods)} worst periods, predicted / measured (--all prints every case):"
    return "\n".join((title, *_lines(periods)))


def _lines(outcomes: Sequence[Outcome]) -> list[str]:
    wide = max((len(o.group) for o in outcomes), default=0)
    return [f"{o.ratio:6.2f}  {o.figure:11}  {o.group:{wide}}  {o.case}" for o in outcomes]


def _periods(steps: Iterable[Outcome]) -> list[Outcome]:
    """The periods of steps, each once: the overhead-bound ones are among the eager ones too."""
    return [o for o in steps if o.figure == "period" and not o.group.startswith("overhead-bound")]


def interval(outcomes: Iterable[Outcome]) -> tuple[float, float]:
    """The 10th and 90th percentile of measured over predicted period."""
    ratios = [1 / o.ratio for o in _periods(outcomes)]
    low, high = np.quantile(ratios, [0.1, 0.9])
    return float(f"{low:.3f}"), float(f"{high:.3f}")


def interval_in_words(steps: Sequence[Outcome]) -> str:
    """The range of the steps' periods, to compare with the intervals of predictions."""
    low, high = interval(steps)
    return fill(
        f"80% of the {len(_periods(steps))} periods of eager steps and CUDA graphs on the H200 "
        f"are {low} to {high} times the prediction. This range shows how wide an 80% interval has "
        "to be; the last column of the table counts how often the stated interval holds.",
        PAGE_WIDTH,
    )


def sweeps_in_words(sweeps: Sequence[Sweep]) -> str:
    """How often the regimes of the sweeps agree, and by how much the end of overhead is off."""
    agreed = [each for sweep in sweeps for each in sweep.agreement]
    factors: list[float] = []
    for sweep in sweeps:
        measured, predicted = sweep.crossings
        if measured and predicted:
            factors.append(max(measured / predicted, predicted / measured))
    return fill(
        f"In {len(sweeps)} sweeps over the batch, the regime by the cost of doubling the batch is "
        f"predicted as measured in {sum(agreed)} of {len(agreed)} doublings. The batch at which a "
        f"network stops being overhead-bound is off by a factor of {np.median(factors):.2f} in the "
        f"median, {max(factors):.2f} at most.",
        PAGE_WIDTH,
        break_on_hyphens=False,
    )
