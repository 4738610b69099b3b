"""Fit NVLink 4's constants of collectives to measurements on H200s and H100s of one host.

`python -m calibration.fit.collectives --public FILE` prints the errors by machine, with that
machine in the fit and left out of it, and writes `simulator/collectives/profiles/collectives.json`.
FILE holds public nccl-tests as a gzipped CSV with the columns gpu, n_gpus, collective, dtype,
message_bytes, latency_us and library. Only this file has 8 GPUs and reductions in the switch;
without it, their constants stay as they are. NVLink 5 gets the same constants with twice the
bandwidths.

The fit is by least squares of ln(predicted/measured). Public all-to-alls below 4 MiB are left out:
nccl-tests calls them differently from torch.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

import simulator.collectives.price
from calibration.fit.solvers import least_squares
from simulator.cluster import cluster
from simulator.collectives.group import Group, group_of
from simulator.collectives.nccl import choose
from simulator.collectives.price import Fabric, profile, within_us

MEASUREMENTS = Path(__file__).parents[1] / "measurements"
PROFILE = Path(simulator.collectives.price.__file__).parent / "profiles" / "collectives.json"
MACHINES = {
    "2 H200": ("h200_sxm_x2", 2),
    "2 H100": ("h100_sxm_x4", 2),
    "4 H100": ("h100_sxm_x4", 4),
}
PUBLIC = "public H200"
OWN_SOURCE = (
    "two H200s and two and four H100s (calibration/measurements/h200_sxm_x2, …/h100_sxm_x4)"
)
PUBLIC_SOURCE = ", and nccl-tests 2.29.2 on 2, 4 and 8 H200s (ai-dynamo/aiconfigurator, Apache-2.0)"
HOST_BOUND = 1.4  # a call that takes less than this multiple of the host's time is host-bound
SCALARS = (
    "ll_base", "ll_step", "ll_d0", "ll_d1", "ll_bandwidth", "ll_overlap", "ll128_base",
    "simple_base", "simple_step", "simple_overlap", "ramp", "direct_ramp", "send_channel",
)  # fmt: skip
IN_SWITCH = ("nvls_base", "nvls_bandwidth")
BY_KIND = ("bandwidth", "copy", "direct_base", "direct_d")
LEAST, MOST = 1e-4, 1e4


class Row(NamedTuple):
    """A measured collective."""

    machine: str
    kind: str
    message_bytes: int
    group: Group
    us: float


def measured() -> Iterator[Row]:
    """The collectives of `calibration/measurements`, in CUDA graphs where they were captured."""
    for machine, (folder, ranks) in MACHINES.items():
        path = MEASUREMENTS / folder / "collectives.jsonl.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        group = group_of(cluster(f"{ranks}xh200"), tuple(range(ranks)))
        for line in lines:
            if line.get("protocol") != "auto" or line.get("ranks") != ranks:
                continue
            if line["part"] != "collective" or line["collective"] == "exchange":
                continue
            if "graph_s" not in line and line["stream_s"] < HOST_BOUND * line["issue_s"]:
                continue
            kind = "send" if line["collective"] == "send_receive" else line["collective"]
            seconds = line.get("graph_s", line["stream_s"])
            yield Row(machine, kind, line["message_bytes"], group, seconds * 1e6)


def public(path: Path) -> Iterator[Row]:
    """The medians of public nccl-tests on 2, 4 and 8 H200s."""
    times: dict[tuple[str, int, int], list[float]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if "H200" in line["gpu"] and "nccl" in line["library"] and line["dtype"] == "half":
                kind = line["collective"].replace("alltoall", "all_to_all")
                key = kind, int(line["n_gpus"]), int(line["message_bytes"])
                times.setdefault(key, []).append(float(line["latency_us"]))
    for (kind, ranks, message_bytes), each in times.items():
        if message_bytes >= (2**22 if kind == "all_to_all" else 2**10):
            group = group_of(cluster(f"{ranks}xh200"), tuple(range(ranks)))
            yield Row(PUBLIC, kind, message_bytes, group, median(each))


def log_errors(rows: Sequence[Row], fabric: Fabric) -> np.ndarray:
    """ln(predicted/measured) of each row."""
    return np.array(
        [
            np.log(
                within_us(
                    row.kind,
                    row.message_bytes,
                    row.group,
                    choose(row.kind, row.message_bytes, row.group),
                    fabric,
                )
                / row.us
            )
            for row in rows
        ]
    )


def fitted(rows: Sequence[Row], start: Fabric) -> Fabric:
    """The constants with the smallest sum of squared logarithmic errors."""
    scalars = SCALARS + (IN_SWITCH if any(row.machine == PUBLIC for row in rows) else ())
    values: dict[str, Any] = msgspec.structs.asdict(start)
    keys = [(name, "") for name in scalars]
    keys += [(name, kind) for name in BY_KIND for kind in values[name]]

    def fabric(logs: np.ndarray) -> Fabric:
        fields: dict[str, Any] = {name: dict(values[name]) for name in BY_KIND}
        for (name, kind), value in zip(keys, np.exp(logs).tolist(), strict=True):
            if kind:
                fields[name][kind] = value
            else:
                fields[name] = value
        return msgspec.structs.replace(start, **fields)

    begin = np.log([max(values[n][k] if k else values[n], 10 * LEAST) for n, k in keys])
    bounds = np.log(LEAST), np.log(MOST)
    solution = least_squares(lambda x: log_errors(rows, fabric(x)), begin, bounds=bounds)
    return fabric(solution.x)


def errors(rows: Sequence[Row], fabric: Fabric) -> str:
    """Median and 90th percentile of the error up to 1 MiB and above."""
    each = np.abs(np.expm1(log_errors(rows, fabric)))
    small = np.array([row.message_bytes <= 2**20 for row in rows])
    return " | ".join(
        "{:.1f} / {:.1f}%".format(*(100 * np.quantile(part, (0.5, 0.9))))
        for part in (each[small], each[~small])
    )


def rounded(value: Any) -> Any:
    """The value with four digits."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in cast(dict[str, Any], value).items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def spreads(rows: Sequence[Row], each: np.ndarray) -> dict[str, float]:
    """80% half-widths of logarithmic errors up to 1 MiB and above."""
    small = np.array([row.message_bytes <= 2**20 for row in rows])
    return {
        name: float(np.expm1(np.quantile(np.abs(part), 0.8)))
        for name, part in (("spread_small", each[small]), ("spread_large", each[~small]))
    }


def write(fabric: Fabric, with_public: bool, path: Path = PROFILE) -> None:
    """Store the constants of NVLink 4 and, with twice the bandwidth, of NVLink 5."""
    stored = json.loads(path.read_bytes())
    fields = rounded(msgspec.to_builtins(fabric))
    fields["source"] = OWN_SOURCE + (PUBLIC_SOURCE if with_public else "")
    stored["fabrics"]["nvlink4"] = fields
    faster = json.loads(json.dumps(fields))
    for name in ("ll_bandwidth", "nvls_bandwidth", "send_channel"):
        faster[name] *= 2
    faster["bandwidth"] = {kind: 2 * value for kind, value in faster["bandwidth"].items()}
    faster["copy"] = {kind: value / 2 for kind, value in faster["copy"].items()}
    unfitted = ("source", "spread_small", "spread_large", "transferred")
    faster |= {name: stored["fabrics"]["nvlink5"][name] for name in unfitted}
    stored["fabrics"]["nvlink5"] = faster
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main() -> None:
    """Print the errors and write the constants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--public", type=Path, metavar="FILE")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    rows = [*measured(), *(public(options.public) if options.public else ())]
    before = profile().fabrics["nvlink4"]
    start = msgspec.structs.replace(
        before,
        ll_overlap=max(before.ll_overlap, 2.0),
        simple_overlap=max(before.simple_overlap, 2.0),
        send_channel=before.send_channel or 30.0,
    )
    fabric = fitted(rows, start)
    print("| machine | points | before: to 1 MiB | above | left out | above | fitted | above |")
    print("|--" * 8 + "|")
    held_out: list[Row] = []
    held_errors: list[np.ndarray] = []
    for machine in dict.fromkeys(row.machine for row in rows):
        own = [row for row in rows if row.machine == machine]
        others = fitted([row for row in rows if row.machine != machine], start)
        held_out += own
        held_errors.append(log_errors(own, others))
        print(
            f"| {machine} | {len(own)} | {errors(own, before)} | {errors(own, others)} | "
            f"{errors(own, fabric)} |",
            flush=True,
        )
    widths = spreads(held_out, np.concatenate(held_errors))
    fabric = msgspec.structs.replace(fabric, **widths)
    print(rounded(msgspec.to_builtins(fabric)))
    if not options.dry:
        write(fabric, options.public is not None)


if __name__ == "__main__":
    main()
