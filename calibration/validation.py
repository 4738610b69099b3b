"""Predicted against measured, on steps that were never fitted.

`python -m calibration.validation` prints a line for each case and the summary that the README
shows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.fidelity import retrace
from calibration.recordings import Recording, recordings
from simulator import predict_trace
from simulator.records import Trace

README = Path(__file__).parent.parent / "README.md"
_BEGIN, _END = "<!-- accuracy -->", "<!-- /accuracy -->"


@dataclass(frozen=True)
class Outcome:
    """One figure of one case: predicted over measured; `covered` where the truth lies in the
    prediction's interval (None for a figure that has none)."""

    case: str
    group: str
    figure: str
    ratio: float
    covered: bool | None = None


def outcomes(recording: Recording, traced: Trace) -> list[Outcome]:
    """Every figure of a recorded case."""
    eager = predict_trace(traced)
    group = f"{recording.case['phase']}, eager"

    def outcome(figure: str, predicted: float, measured: float) -> Outcome:
        return Outcome(recording.name, group, figure, predicted / measured)

    low, high = eager.interval_s
    found = [
        Outcome(
            recording.name,
            group,
            "period",
            eager.period_s / recording.period_s,
            low <= recording.period_s <= high,
        ),
        outcome("latency", eager.latency_s, recording.latency_s),
        outcome("GPU busy", eager.gpu_busy_s, recording.gpu_busy_s),
        outcome("kernels", eager.kernel_count, recording.kernel_count),
    ]
    if recording.graph and "period" in recording.graph:
        graph = predict_trace(traced, mode="cuda_graph")
        measured = recording.graph["period"]["median_s"]
        low, high = graph.interval_s
        found.append(
            Outcome(
                recording.name,
                "inference, CUDA graph",
                "period",
                graph.period_s / measured,
                low <= measured <= high,
            )
        )
    return found


def validate(suite: str = "validation") -> list[Outcome]:
    """Every figure of every case of a suite."""
    return [o for r in recordings(suite) for o in outcomes(r, retrace(r.case))]


def summary(found: Iterable[Outcome]) -> list[tuple[str, str, int, float, float, float, float]]:
    """By group and figure: cases, median and 90th percentile of the error, how far it leans, and
    the share of truths inside the interval (NaN where there is none)."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in found:
        groups.setdefault((outcome.group, outcome.figure), []).append(outcome)
    rows: list[tuple[str, str, int, float, float, float, float]] = []
    for (group, figure), each in groups.items():
        ratios = np.array([o.ratio for o in each])
        off = np.abs(ratios - 1)
        inside = [o.covered for o in each if o.covered is not None]
        covered = float(np.mean(inside)) if inside else float("nan")
        rows.append(
            (
                group,
                figure,
                len(each),
                float(np.median(off)),
                float(np.quantile(off, 0.9)),
                float(np.median(ratios) - 1),
                covered,
            )
        )
    return rows


def interval(found: Sequence[Outcome]) -> tuple[float, float]:
    """The 10th and 90th percentile of measured over predicted period."""
    ratios = [1 / o.ratio for o in found if o.figure == "period"]
    low, high = np.quantile(ratios, [0.1, 0.9])
    return float(f"{low:.3f}"), float(f"{high:.3f}")


def table(found: Iterable[Outcome]) -> str:
    """The summary in Markdown."""
    lines = [
        "| what | figure | cases | median error | p90 | leans | in the 80% interval |",
        "|---|---|---|---|---|---|---|",
    ]
    for group, figure, cases, median, worst, lean, covered in summary(found):
        inside = "" if np.isnan(covered) else f"{covered:.0%}"
        cells = (group, figure, cases, f"{median:.1%}", f"{worst:.1%}", f"{lean:+.1%}", inside)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def put(readme: str, lines: str) -> str:
    """The README with these lines between its accuracy marks."""
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{lines}\n{_END}{after}"


def main() -> None:
    """Print every case, then the table; with --readme put the table into the README."""
    found = validate()
    if "--readme" in sys.argv[1:]:
        README.write_text(put(README.read_text(), table(found)))
    for o in found:
        print(f"{o.ratio:6.2f}  {o.figure:8}  {o.group:22}  {o.case}")
    print(table(found))
    print("interval of measured over predicted period:", interval(found))


if __name__ == "__main__":
    main()
