"""Fit a host profile: nanoseconds for each thing counted, from steps whose host ruled the time.

`python -m calibration.fit.host` writes `simulator/profiles/hosts/xeon-h200.json`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from scipy.optimize import nnls

from calibration.cases.host import MICRO
from calibration.record.read import Recording, host_index, recordings
from calibration.validate.trace_fidelity import retrace
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import COUNTS, FOLDER, Host, counts, syncs
from simulator.lowering import lower
from simulator.records import Trace

HOST_BOUND = 1.25
"""Period over GPU-busy time from which a step counts as ruled by its host."""


def rows(pairs: Sequence[tuple[Recording, Trace]]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Counts by step, [steps, COUNTS], and measured seconds, of steps ruled by their host."""
    card = find_gpu("h200")
    names: list[str] = []
    totals: list[np.ndarray] = []
    seconds: list[float] = []
    for recording, trace in pairs:
        waits = any(syncs(op.signature) for op in trace.ops)
        if waits or recording.period_s < HOST_BOUND * recording.gpu_busy_s:
            continue
        lowered = lower(trace, card)
        launches = np.bincount(lowered.op_of, minlength=len(trace.ops))
        total = counts(trace, launches).sum(axis=0)
        names.append(recording.name)
        totals.append(np.append(total, recording.kernel_count))
        seconds.append(recording.period_s)
    return names, np.array(totals), np.array(seconds)


def fit(totals: np.ndarray, seconds: np.ndarray) -> np.ndarray:
    """Non-negative least squares on relative errors: seconds for each count."""
    found, _ = nnls(totals / seconds[:, None], np.ones(len(seconds)))
    return found


def warmth(totals: np.ndarray, seconds: np.ndarray, micro: np.ndarray) -> float:
    """How much faster a loop over one op is than the same op in a network, whose code and data
    are in no cache: the factor with which networks and micro-networks fit together best."""

    def misfit(factor: float) -> float:
        cold = np.where(micro, seconds / factor, seconds)
        ratio = totals @ fit(totals, cold) / cold
        return float(np.sum(np.log(ratio[~micro]) ** 2))

    factors = np.linspace(0.5, 1.0, 26)
    return float(min(factors, key=misfit))


def main() -> None:
    """Fit to the recorded networks and micro-networks."""
    suites = (*recordings(), *recordings("host"))
    write(*rows([(recording, retrace(recording.case)) for recording in suites]))


def write(names: list[str], totals: np.ndarray, seconds: np.ndarray) -> None:
    """Fit, report each network left out in turn, and write the profile."""
    micro = np.array([name.split("/")[0].split(",")[0] in MICRO for name in names])
    factor = warmth(totals, seconds, micro)
    seconds = np.where(micro, seconds / factor, seconds)
    found = fit(totals, seconds)
    held_out = {
        name: float(totals[i] @ fit(np.delete(totals, i, 0), np.delete(seconds, i)) / seconds[i])
        for i, name in enumerate(names)
    }
    for name, ratio in held_out.items():
        print(f"{ratio:6.2f}  {name}")
    off = np.abs([r - 1 for (_, r), m in zip(held_out.items(), micro, strict=True) if not m])
    print(f"a loop takes {factor:.2f} of the time in a network")
    print(f"left out in turn: median {np.median(off):.1%}, p90 {np.quantile(off, 0.9):.1%}")
    values = {name: float(f"{v:.3e}") for name, v in zip(COUNTS, found.tolist(), strict=True)}
    print(values)
    host = Host(
        version=1,
        id="xeon-h200",
        cpu="Intel Xeon, 16 virtual cores, beside an H200; Python 3.12, torch 2.11",
        source=f"non-negative least squares over {len(names)} recorded steps ruled by their host",
        seconds=values,
        latency_s=5e-6,
        sync_s=8e-6,
        depth=1024,
        reference=host_index("host"),
    )
    text = msgspec.json.format(msgspec.json.encode(host), indent=1)
    (FOLDER / "xeon-h200.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
