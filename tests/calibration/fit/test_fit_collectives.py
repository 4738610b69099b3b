"""The fit of collectives recovers the constants from which times were computed, and stores them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from calibration.fit.collectives import (
    OWN_SOURCE,
    PROFILE,
    PUBLIC,
    Row,
    fitted,
    log_errors,
    measured,
    write,
)
from simulator.cluster import cluster
from simulator.collectives.group import group_of
from simulator.collectives.price import Fabric, profile

NVLINK = profile().fabrics["nvlink4"]


def rows(fabric: Fabric) -> list[Row]:
    """The times that a fabric gives to four kinds of collectives over two and four GPUs, from 1 KiB
    to 1 GiB."""
    points: list[Row] = []
    for ranks in (2, 4):
        group = group_of(cluster(f"{ranks}xh200"), tuple(range(ranks)))
        for kind in ("all_reduce", "all_gather", "all_to_all", "send"):
            for power in range(10, 31, 2):
                row = Row("here", kind, 2**power, group, 1.0)
                us = float(np.exp(log_errors([row], fabric)[0]))
                points.append(row._replace(us=us))
    return points


def test_times_made_of_constants_are_fitted() -> None:
    true = msgspec.structs.replace(NVLINK, ll_base=6.0, ll_bandwidth=90.0, simple_step=4.0)
    points = rows(true)
    assert np.abs(log_errors(points, NVLINK)).max() > 0.2
    again = fitted(points, NVLINK)
    assert np.abs(log_errors(points, again)).max() < 0.01
    assert again.ll_base == pytest.approx(6.0, rel=0.05)
    # reductions in the switch are fitted to public measurements alone
    assert again.nvls_bandwidth == NVLINK.nvls_bandwidth


def test_measured_rows_are_captured_or_not_decided_by_the_host() -> None:
    each = list(measured())
    assert PUBLIC not in {row.machine for row in each}
    by_machine = {name: [r for r in each if r.machine == name] for name in ("2 H200", "4 H100")}
    # 3 captured collectives of 21 sizes each; and 3 others, each with 4 sizes that are GPU-bound
    assert len(by_machine["2 H200"]) == 3 * 21 + 3 * 4
    assert len(by_machine["4 H100"]) == 3 * 21 + 3 * 11
    assert {row.group.ranks for row in by_machine["4 H100"]} == {4}


def test_the_next_links_take_twice_the_bandwidth_and_keep_their_own_interval(
    tmp_path: Path,
) -> None:
    path = tmp_path / "collectives.json"
    path.write_bytes(PROFILE.read_bytes())
    write(msgspec.structs.replace(NVLINK, ll_bandwidth=100.0), with_public=False, path=path)
    stored = json.loads(path.read_bytes())["fabrics"]
    four, five = stored["nvlink4"], stored["nvlink5"]
    assert (four["ll_bandwidth"], five["ll_bandwidth"]) == (100, 200)
    assert five["bandwidth"]["send"] == 2 * four["bandwidth"]["send"]
    assert five["copy"]["all_gather"] == four["copy"]["all_gather"] / 2
    assert five["ll_base"] == four["ll_base"] and five["transferred"] == "nvlink4"
    assert five["spread_large"] == profile().fabrics["nvlink5"].spread_large
    assert four["source"] == OWN_SOURCE
