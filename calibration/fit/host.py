"""Fit a host profile: seconds for each unit of counted work, from host-bound steps.

`python -m calibration.fit.host` writes `simulator/hardware/hosts/xeon-h200.json`: the times that
fit the rows of `calibration.fit.host_rows`. Each round is divided by the speed factor of its host
in that second, and multiplied by the median factor of all hosts measured so far. `--median` keeps
the stored times and only multiplies them by the change of that median.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from calibration.fit.host_rows import PHASES, WHOLE, Floats, Row, rows
from calibration.fit.hosts_seen import MODEL, measured_hosts
from calibration.fit.solvers import nnls
from calibration.record.host_rounds import lines, reference_index, steps
from simulator.hardware.host import COUNTS, DEFAULT, FOLDER, VERSION, Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import ON_CPU_MARK, Parts, index_at, parts

LAUNCH_S = 2.5e-6
"""Seconds to launch each further kernel of an op by a call of the driver. The time is not fitted,
since few steps have such kernels, and since it is uncertain which kernels cuBLAS and cuDNN launch
for the few rows of these steps.
"""
_LEVELLINGS = 4
"""Rounds after which the levels of the measured processes change by less than a thousandth."""
_MICRO_WEIGHT = 0.25
"""Weight of a loop over one op or one piece of Python, relative to a network. There are many such
loops, and all run with warm caches."""


def fit(of: Sequence[Row]) -> Floats:
    """The reference host's seconds per count, by non-negative least squares on relative errors."""
    free = np.array([name != "launch" for name in COUNTS])
    factors: list[Floats] = []
    rest: list[Floats] = []
    for row in of:
        weight = (_MICRO_WEIGHT if row.micro else 1.0) / row.seconds
        each = row.times * row.counts * weight[:, None]
        factors.append(each[:, free])
        rest.append(row.seconds * weight - each[:, ~free].sum(axis=1) * LAUNCH_S)
    solution = nnls(np.vstack(factors), np.concatenate(rest))
    seconds = np.full(len(COUNTS), LAUNCH_S)
    seconds[free] = solution
    return seconds


def levelled(of: Sequence[Row]) -> list[Row]:
    """The rows, with the phases of all processes at their mean level. Other tenants of a machine
    slow its work by more than the fixed steps show, by the same factor in all phases. Each process
    has one factor, from the median of predicted over measured time."""
    rows = list(of)
    for _ in range(_LEVELLINGS):
        fitted = fit(rows)
        ratios: dict[str, list[float]] = {}
        for row in rows:
            if row.part != WHOLE:
                ratios.setdefault(row.step.machine, []).append(row.ratio(fitted))
        medians = {process: float(np.median(each)) for process, each in ratios.items()}
        mean = float(np.exp(np.mean(np.log([*medians.values()]))))
        print("predicted over measured phases:", {n: round(x, 3) for n, x in medians.items()})
        rows = [
            row
            if row.part == WHOLE
            else row._replace(times=row.times * mean / medians[row.step.machine])
            for row in rows
        ]
    return rows


def left_out(of: Sequence[Row], by: Callable[[Row], str]) -> dict[tuple[str, str], float]:
    """Ratios of predicted to measured time of each whole step of a network. The costs for a row are
    fitted without the rows for which `by` gives the same value."""
    errors: dict[tuple[str, str], float] = {}
    for group in sorted({by(row) for row in of if _whole_network(row)}):
        fitted = fit([row for row in of if by(row) != group])
        for row in of:
            if by(row) == group and _whole_network(row):
                errors[row.step.machine, row.step.name] = row.ratio(fitted)
    return errors


def _whole_network(row: Row) -> bool:
    on_cpu = row.step.name.endswith(ON_CPU_MARK)
    return row.part == WHOLE and not row.micro and not on_cpu


def report(title: str, ratios: Sequence[float]) -> str:
    """Print and return the bias, the median and the 90th percentile of the error."""
    off = np.abs(np.array(ratios) - 1)
    text = (
        f"{title}: {len(ratios)} steps, bias {np.median(ratios) - 1:+.1%}, "
        f"median {np.median(off):.1%}, p90 {np.quantile(off, 0.9):.1%}"
    )
    print(text)
    return text


def main() -> None:
    """Write the profile: fitted, or the stored one at the median of all hosts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--median", action="store_true", help="fit nothing")
    if parser.parse_args().median:
        _write_both(at_the_median(find_host(DEFAULT)))
    else:
        _write_both(fitted_host())


def at_the_median(known: Host) -> Host:
    """A stored default host at the median of all hosts measured so far."""
    reference, hosts = reference_index(), measured_hosts()
    change = Parts(
        *(a / b for a, b in zip(hosts.median, parts(known.reference, reference), strict=True))
    )
    _, _, how = known.source.partition(" processes ")
    return msgspec.structs.replace(
        known,
        source=f"the median of {hosts.processes} processes {how}",
        seconds={name: float(f"{s * change.of(name):.3e}") for name, s in known.seconds.items()},
        spread=hosts.spread,
        spread_with=hosts.spread_with,
        slowest=hosts.slowest,
        reference=_at(reference, hosts.median),
    )


def fitted_host() -> Host:
    """The default host, fitted to all rows; prints the errors of held-out groups."""
    reference = reference_index()
    of = levelled(rows(reference))
    fitted = fit(of)
    report("fitted, micro-cases", [row.ratio(fitted) for row in of if row.micro])
    report("fitted, networks", [row.ratio(fitted) for row in of if _whole_network(row)])
    for phase in PHASES:
        report(f"fitted, {phase}", [row.ratio(fitted) for row in of if row.part == phase])
    held_out = left_out(of, lambda row: row.step.family)
    for (machine, name), ratio in sorted(held_out.items(), key=lambda item: item[1]):
        print(f"{ratio:6.2f}  {machine}  {name}")
    errors = report("each family left out", [*held_out.values()])
    report("each machine left out", [*left_out(of, lambda row: row.step.machine).values()])
    hosts = measured_hosts()
    default = hosts.median
    seconds = {n: float(f"{s * default.of(n):.3e}") for n, s in zip(COUNTS, fitted, strict=True)}
    print(seconds, hosts)
    return Host(
        version=VERSION,
        id=DEFAULT,
        cpu="Intel Xeon (Emerald Rapids, 2.1 GHz), 16 virtual cores, with an H200 or an H100",
        source=f"the median of {hosts.processes} processes with H200s and H100s; Python 3.12, "
        f"torch 2.11; times by non-negative least squares over {len(of)} steps and phases; "
        f"{errors}",
        seconds=seconds,
        latency_s=5e-6,
        sync_s=8e-6,
        depth=1024,
        spread=hosts.spread,
        spread_with=hosts.spread_with,
        slowest=hosts.slowest,
        reference=_at(reference, default),
    )


def _at(reference: Mapping[str, float], median: Parts) -> dict[str, float]:
    """The times of the fixed work on the median host."""
    return {name: float(f"{s:.5g}") for name, s in index_at(reference, median).items()}


def other(default: Host, reference: Mapping[str, float], median: Parts) -> Host:
    """The host of the H100: the same processor, with another process on the same core most of the
    time. `median` is the default's speed relative to the reference."""
    rounds = [r.host.driver for step in steps("h100_sxm") for r in step.rounds]
    low, middle, high = np.quantile(rounds, [0.1, 0.5, 0.9])
    indices = [row["host_index"] for row in lines("h100_sxm") if row.get("host_index")]
    mean = {name: float(np.mean([each[name] for each in indices])) for name in reference}
    times = parts(mean, reference)
    speed = Parts(
        *(float(a * middle / times.driver / b) for a, b in zip(times, median, strict=True))
    )
    slower = default.slower(speed)
    off = np.log1p(MODEL)
    return msgspec.structs.replace(
        slower,
        id="xeon-h100",
        cpu="Intel Xeon (Emerald Rapids, 2.1 GHz), 16 virtual cores on a busy machine with H100s",
        source=f"{default.id}, with each part scaled by the time of fixed work in "
        f"{len(rounds)} rounds next to measured steps: "
        + ", ".join(f"{name} {value:.2f}" for name, value in speed._asdict().items()),
        seconds={name: float(f"{s:.3e}") for name, s in slower.seconds.items()},
        spread=(
            round(float(np.exp(-np.hypot(np.log(low / middle), off))), 2),
            round(float(np.exp(np.hypot(np.log(high / middle), off))), 2),
        ),
        reference={name: float(f"{s:.5g}") for name, s in mean.items()},
    )


def _write_both(host: Host) -> None:
    reference = reference_index()
    for each in (host, other(host, reference, measured_hosts().median)):
        _write(each)


def _write(host: Host) -> None:
    text = msgspec.json.format(msgspec.json.encode(host), indent=1)
    (FOLDER / f"{host.id}.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
