"""Compare the predicted with the measured energy of whole steps.

`python -m calibration.validate.energy_steps` predicts each of `cases.energy_steps.ENERGY_STEPS` and
prints it next to the measurement of `calibration.measure.energy --steps` on the card that `--card`
names. Half of the H200's steps are in the fit of its energies ("fitted"); its other half and the
H100's are held out. "cooled" compares with the joules that a card of the default temperature would
have taken. `--write FILE` stores the predictions as JSON lines, gzipped if the name ends in `.gz`;
`--before FILE` compares such a file with the measurements instead and traces nothing. The packages
transformers and timm must be installed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from calibration.cases.energy.cases import EnergyCase as Step
from calibration.cases.energy.steps import ENERGY_STEPS, is_fitted
from calibration.outcome import Outcome, summary, table
from calibration.record.host_rounds import beside
from calibration.record.sustained import FIRST, EnergyCase, coolness, read_cases
from calibration.stored_predictions import Row, rows, write
from calibration.validate.report import HOST_BOUND
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.hardware.host import Host


def predictions(card: str, measured: dict[str, EnergyCase]) -> dict[str, Row]:
    """The figures of each step by name, or the error of a step. The host of a measured step has the
    speed that was measured next to the step."""
    predicted: dict[str, Row] = {}
    for step in ENERGY_STEPS:
        case = measured.get(step.name)
        try:
            host = beside(case.probes) if case and case.probes else None
            predicted[step.name] = figures(step, card, host)
        except Exception as error:  # a network may raise any error
            predicted[step.name] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
        print(step.name, predicted[step.name], flush=True)
    return predicted


def figures(case: Step, card: str, host: Host | None) -> Row:
    """Predict the figures of a case on a card."""
    assert case.step is not None
    mode = "cuda_graph" if case.graph else "eager"
    p = predict_trace(retrace(case.step.record(), mode), gpu=card, host=host, mode=mode)
    assert p.power is not None
    return {
        "joules": p.power.joules,
        "joules_interval": list(p.power.joules_interval),
        "watts": p.power.watts,
        "clock_hz": p.power.clock_hz,
        "period_s": p.period_s,
        "gpu_busy_s": p.gpu_busy_s,
    }


def outcomes(
    predicted: dict[str, Row], measured: dict[str, EnergyCase], card: str
) -> list[Outcome]:
    """Predicted over measured figures of each step, in groups by its bottleneck and by whether it
    is in the fit."""
    results: list[Outcome] = []
    for name, case in measured.items():
        p = predicted.get(name)
        if p is None or "failed" in p:
            continue
        host_decides = p["period_s"] > HOST_BOUND * p["gpu_busy_s"]
        group = "host-bound" if host_decides else "power limit" if case.limited else "GPU-bound"
        joules = case.watts * case.seconds
        true = {
            "joules": joules,
            "cooled": joules * coolness(case),
            "watts": case.watts,
            "period_s": case.seconds,
            "clock_hz": case.clock_hz,
        }
        low, high = p["joules_interval"]
        fitted = "fitted" if card == FIRST and is_fitted(name) else "held out"
        for figure, value in true.items():
            energy = figure in ("joules", "cooled")
            ratio = p["joules" if energy else figure] / value
            inside = low <= value <= high if energy else None
            groups = (group, f"{group}, {fitted}", fitted, "all")
            results += [Outcome(name, of, figure, ratio, inside) for of in groups]
    return results


def main() -> None:
    """Predict, or read the predictions, and compare those that were measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--card", default="h200_sxm", help="h200_sxm or h100_sxm")
    parser.add_argument("--write", type=Path, help="file for the predictions")
    parser.add_argument("--before", type=Path, help="file of stored predictions")
    options = parser.parse_args()
    measured = {case.name: case for case in read_cases(options.card, "energy_steps")}
    if options.before:
        predicted = {row.pop("case"): row for row in rows(options.before)}
    else:
        predicted = predictions(options.card, measured)
    results = outcomes(predicted, measured, options.card)
    ratios: dict[str, dict[str, float]] = {}
    for outcome in results:
        ratios.setdefault(outcome.case, {})[outcome.figure] = outcome.ratio
    for name, by_figure in sorted(ratios.items(), key=lambda item: item[1]["joules"]):
        print("  ".join(f"{figure} {ratio:.2f}" for figure, ratio in by_figure.items()), name)
    if results:
        print(table(sorted(summary(results), key=lambda s: (s.group, s.figure))))
    if options.write:
        write(options.write, ({"case": name, **p} for name, p in predicted.items()))


if __name__ == "__main__":
    main()
