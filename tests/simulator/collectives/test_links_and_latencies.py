"""The usual speed of each fabric's links, and the steps of rings with one rank per node."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from simulator.cluster import cluster
from simulator.collectives.group import Group, group_of
from simulator.collectives.nccl import _latency_us, _tree_us, tuning

EIGHT = cluster("8xh100")


@pytest.mark.parametrize(("kind", "generation", "bytes_per_s"), [
    # all NVLinks of a V100, an A100, an H100 and a B200, in one direction; 16 lanes of PCI Express
    ("nvlink", 2, 150e9), ("nvlink", 3, 300e9), ("nvlink", 4, 450e9), ("nvlink", 5, 900e9),
    ("pcie", 3, 16e9), ("pcie", 4, 32e9), ("pcie", 5, 64e9), ("pcie", 6, 128e9),
])  # fmt: skip
def test_links_of_the_usual_speed_take_the_measured_time(
    kind: str, generation: int, bytes_per_s: float
) -> None:
    def times(speed: float, what_if: float = 1.0) -> float:
        link = msgspec.structs.replace(
            EIGHT.link,
            kind=kind,
            generation=generation,
            bandwidth_bytes_per_s=speed,
            times=what_if,
        )
        return group_of(msgspec.structs.replace(EIGHT, link=link), (0, 1)).link_times

    assert times(bytes_per_s) == pytest.approx(1.0)
    assert times(bytes_per_s / 3) == pytest.approx(1 / 3)
    assert times(bytes_per_s, 1.5) == pytest.approx(1.5)


def test_links_of_an_unknown_fabric_have_their_own_speed() -> None:
    link = msgspec.structs.replace(EIGHT.link, generation=9, bandwidth_bytes_per_s=7e9, times=2.0)
    group = group_of(msgspec.structs.replace(EIGHT, link=link), (0, 1))
    assert group.link_times == 2.0


FOUR_NODES = Group(4, 4, "nvlink4", "nvlink", False, True, 8, network_bytes_per_s=50e9)


@pytest.mark.parametrize("protocol", ["LL", "LL128", "Simple"])
def test_a_rank_for_each_node_takes_no_step_within_one(protocol: str) -> None:
    """An all-reduce of 4 ranks has 2 · 3 steps; 2 · 4 crossings between nodes are counted, so no
    step is left within a node; an all-gather has 3 steps and 4 crossings."""
    constants = tuning()
    base, network = constants.base_us[protocol], constants.step_us["network"][protocol]
    inside = constants.step_us["nvlink"][protocol]
    assert _latency_us(protocol, "all_reduce", FOUR_NODES) == pytest.approx(base + 8 * network)
    assert _latency_us(protocol, "all_gather", FOUR_NODES) == pytest.approx(base + 4 * network)
    # 16 ranks in 4 nodes: 2 · 15 − 8 = 22, and 15 − 4 = 11
    sixteen = replace(FOUR_NODES, ranks=16)
    assert _latency_us(protocol, "all_reduce", sixteen) == pytest.approx(
        base + 22 * inside + 8 * network
    )
    assert _latency_us(protocol, "all_gather", sixteen) == pytest.approx(
        base + 11 * inside + 4 * network
    )
    # with one node, no step crosses between nodes
    one = replace(FOUR_NODES, nodes=1)
    assert _latency_us(protocol, "all_reduce", one) == pytest.approx(base + 6 * inside)


def test_a_tree_goes_up_and_down_through_nodes_and_their_ranks() -> None:
    """16 ranks in 4 nodes: 3 steps within a node and 2 levels of nodes, twice; 5 nodes have 3
    levels."""
    constants = tuning()
    base, network = constants.base_us["LL"], constants.step_us["network"]["LL"]
    inside = constants.step_us["nvlink"]["LL"]
    assert _tree_us("LL", replace(FOUR_NODES, ranks=16)) == pytest.approx(
        base + 2 * (3 * inside + 2 * network)
    )
    assert _tree_us("LL", replace(FOUR_NODES, ranks=5, nodes=5)) == pytest.approx(
        base + 2 * 3 * network
    )
    assert [replace(FOUR_NODES, nodes=n).tree_depth for n in (1, 2, 3, 4, 5)] == [0, 1, 2, 2, 3]
    assert [replace(FOUR_NODES, ranks=n).ranks_per_node for n in (4, 5, 8)] == [1, 2, 2]
