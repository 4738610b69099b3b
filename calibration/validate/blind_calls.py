"""Single calls of random shapes, predicted before they were measured.

`python -m calibration.validate.blind_calls --write FILE` stores the current predictions for each
call of `calibration.blind`, warm and cold. Without options it prints predicted over measured time
for each measured call with a stored prediction, and a table by kind of call; `--now` predicts
again.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from calibration import blind
from calibration.measure.log import read
from calibration.outcome import Outcome, summarised, summary, table
from calibration.record.library_samples import launched
from calibration.record.read import MEASUREMENTS
from calibration.stored_predictions import Row, rows, write
from calibration.sweeps.registry import Point, points
from calibration.validate.single_ops import STATES, seconds
from simulator.hardware.gpu import gpu as find_gpu
from simulator.timing.profile import profile
from simulator.tracing import trace_call

FOLDER = MEASUREMENTS / "h200_sxm"
PREDICTED, MEASURED = FOLDER / "predicted_blind_calls.jsonl.gz", FOLDER / "blind_calls.jsonl.gz"


def predicted(point: Point) -> Row:
    """Seconds of all kernels of a call by state of L2, and their number; or the error."""
    gpu = find_gpu("h200")
    try:
        launches = launched(trace_call(point.make, gpu), gpu)
        by_state = seconds(launches, gpu, profile()) if launches else {}
        return {"call": point.name, **by_state, "kernels": len(launches)}
    except Exception as error:  # an error is a result too, just as a wrong time is
        return {"call": point.name, "failed": f"{type(error).__name__}: {str(error)[:300]}"}


def outcomes(by_name: dict[str, Row], measured: dict[str, Row]) -> Iterator[Outcome]:
    """Each measured call that has a prediction: its seconds warm and cold, and its kernels."""
    for name, row in measured.items():
        kernels, p = row.get("kernels"), by_name.get(name, {})
        if not kernels or not p.get("kernels"):
            continue
        kind = name.partition("(")[0].removeprefix("blind_")
        for column, state in STATES:
            took = sum(each[column] or each[1] for each in kernels)
            yield Outcome(name, f"blind calls, {state}", kind, p[state] / took, measured_s=took)
        yield Outcome(name, "blind calls", "kernels", p["kernels"] / len(kernels))


def main() -> None:
    """Write the predictions, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pattern", nargs="?", default="", help="regular expression on names")
    parser.add_argument("--write", type=Path, help="file for the predictions")
    parser.add_argument("--now", action="store_true", help="predict again")
    options = parser.parse_args()
    chosen = [p for p in points(blind.KIND) if re.search(options.pattern, p.name)]
    if options.write:
        write(options.write, map(predicted, chosen))
        return
    predictions = map(predicted, chosen) if options.now else rows(PREDICTED)
    by_name = {row["call"]: row for row in predictions}
    names = {point.name for point in chosen}
    measured = {name: row for name, row in read(MEASURED).samples.items() if name in names}
    every = list(outcomes(by_name, measured))
    for each in every:
        print(f"{each.ratio:6.2f}  {each.group:18}  {each.case}")
    timed = [each for each in every if each.figure != "kernels"]
    groups = dict.fromkeys(each.group for each in timed)
    whole = [summarised(g, "all calls", [o for o in timed if o.group == g]) for g in groups]
    print(table([*whole, *summary(every)]))


if __name__ == "__main__":
    main()
