"""Fit the energy of NCCL's collectives to their power over two GPUs.

`python -m calibration.fit.collective_energy` writes two figures to the file of each measured card,
from `calibration.measure.collective_energy`: watts while a collective's blocks poll for data, and
joules per byte that a card sends or receives. What the same bytes cost in L2 and DRAM is known from
`calibration.fit.energy`. The cases are large messages, and ranks that wait for a late one. The
collectives that run at the same time as kernels are not in the fit.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from calibration.record.read import MEASUREMENTS
from calibration.record.sustained import FIRST
from simulator.collectives.nccl import dram_share, link_share
from simulator.timing.energies import FOLDER, Energies

FILE = MEASUREMENTS / f"{FIRST}_x2" / "collective_energy.jsonl.gz"
LARGE = 2**26
"""Smaller messages are issued so slowly that no collective runs for a part of the time."""


class RankPower(NamedTuple):
    """Mean watts of one card during a collective, at rest, and its traffic in bytes per second."""

    name: str
    watts: float
    rest_w: float
    dram_bytes_per_s: float
    link_bytes_per_s: float


def rank_powers(path: Path = FILE) -> list[RankPower]:
    """The cards of the cases in the fit."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rest_w = [each["power_w"] for row in rows if "rest" in row for each in row["rest"]]
    powers: list[RankPower] = []
    for row in rows:
        if "how" not in row:
            continue
        late = row["how"].startswith("late")
        if not late and (row["how"] != "alone" or row["message_bytes"] < LARGE):
            continue
        for rank, each in enumerate(row["ranks"]):
            if late and rank == 0:  # this card computes
                continue
            moved = traffic(row["collective"], row["message_bytes"], len(row["ranks"]))
            powers.append(
                RankPower(
                    f"{row['collective']} {row['message_bytes'] >> 20} MiB {row['how']} {rank}",
                    each["power_w"],
                    rest_w[rank],
                    *(count / row["each_s"] for count in moved),
                )
            )
    return powers


def traffic(collective: str, message_bytes: int, ranks: int) -> tuple[float, float]:
    """Bytes of one card in DRAM and over the link. An exchange sends a message and receives
    another."""
    if collective == "exchange":
        return 2.0 * message_bytes, 2.0 * message_bytes
    return (
        message_bytes * dram_share(collective, ranks),
        message_bytes * link_share(collective, ranks),
    )


def known_w(power: RankPower, known: Energies) -> float:
    """Watts of a card without polling and the link."""
    per_byte = known.l2_j_per_byte + known.dram_j_per_byte
    return power.rest_w + known.busy_w + per_byte * power.dram_bytes_per_s


def fitted(powers: list[RankPower], known: Energies) -> Energies:
    """The energies with `collective_w` and `link_j_per_byte` at which the sum of the squares of the
    relative errors is least."""
    rows = np.array([[1.0, each.link_bytes_per_s] for each in powers])
    watts = np.array([each.watts for each in powers])
    left_w = watts - [known_w(each, known) for each in powers]
    answer = np.linalg.lstsq(rows / watts[:, None], left_w / watts, rcond=None)[0]
    collective_w, link_j_per_byte = answer.tolist()
    return msgspec.structs.replace(
        known, collective_w=collective_w, link_j_per_byte=link_j_per_byte
    )


def write(path: Path, known: Energies) -> None:
    """Write the file of a card."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(known), indent=1) + b"\n")


def main() -> None:
    """Fit the first card, and give the other measured cards the same figures: their chips are the
    same."""
    files = [path for path in FOLDER.glob("*.json") if path.stem != "others"]
    known = {path: msgspec.json.decode(path.read_bytes(), type=Energies) for path in files}
    powers = rank_powers()
    first = fitted(powers, known[FOLDER / f"{FIRST}.json"])
    print(f"{first.collective_w:.3g} W, {first.link_j_per_byte:.3g} J per byte")
    for each in powers:
        watts = known_w(each, first) + first.collective_w
        watts += first.link_j_per_byte * each.link_bytes_per_s
        print(f"{each.name:45} {each.watts:4.0f} W, {watts:4.0f} W ({watts / each.watts - 1:+.0%})")
    same = {"collective_w": first.collective_w, "link_j_per_byte": first.link_j_per_byte}
    for path, energies in known.items():
        write(path, msgspec.structs.replace(energies, **same))


if __name__ == "__main__":
    main()
