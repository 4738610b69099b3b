"""Hand-computed times of collectives, with constants that are easy to add."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_fabric

from simulator.collectives.group import Group
from simulator.collectives.nccl import (
    Choice,
    _bus_gbytes_per_s,
    choose,
    dram_share,
    link_share,
    send_channels,
    steps,
    tuning,
    wire_share,
)
from simulator.collectives.price import (
    Fabric,
    NetworkConstants,
    _faster,
    _network_s,
    _network_steps,
    _through_host,
    priced,
    profile,
    within_us,
)

FOUR = Group(4, 1, "nvlink4", "nvlink", False, True, 8)
TWO_NODES = Group(16, 2, "nvlink4", "nvlink", False, True, 8, network_bytes_per_s=200e9)
FABRIC = Fabric(
    source="by hand", ll_base=3, ll_step=2, ll_d0=0.5, ll_d1=0.25, ll_bandwidth=10,
    ll128_base=5, ll128_share=0.8, simple_base=7, simple_step=4, ramp=0.5, direct_ramp=0.25,
    direct_base={"all_to_all": 6, "send": 6}, direct_d={"all_to_all": 1, "send": 2}, nvls_base=9,
    nvls_bandwidth=50,
    bandwidth={"all_reduce": 100, "all_to_all": 40, "send": 50}, copy={"all_reduce": 8,
    "all_to_all": 0, "send": 4}, sharing=0.5, spread_small=0, spread_large=0,
)  # fmt: skip
NETWORK = NetworkConstants("by hand", share=0.8, share_crowded=0.5, step_us=5, spread=0)
X0 = 500_000_000  # bytes, from which there is no ramp


def within(kind: str, message_bytes: int, choice: str, group: Group = FOUR) -> float:
    algorithm, protocol = choice.split()
    return within_us(kind, message_bytes, group, Choice(algorithm, protocol, 1), FABRIC)


def test_ll_pays_steps_doublings_and_bytes() -> None:
    # 6 steps; 7 KiB are 3 doublings of 1 KiB; each rank sends 1.5 times its 7 KiB; 2 ranks share
    # links
    sent_us = 1.5 * 7168 / 10 / 1e3
    expected = 3 + 2 * 6 + (0.5 + 0.25 * 6) * 3 + sent_us * (1 + 0.5 * 2)
    assert within("all_reduce", 7168, "ring LL") == pytest.approx(expected)
    # from 63 KiB on, the number of doublings stays 6
    sent_us = 1.5 * 2**20 / 10 / 1e3
    expected = 3 + 2 * 6 + (0.5 + 0.25 * 6) * 6 + sent_us * 2
    assert within("all_reduce", 2**20, "ring LL") == pytest.approx(expected)


def test_bytes_and_the_copy_of_a_part_take_their_ramp() -> None:
    # each rank sends X0 bytes over links of 100 GB/s that two ranks share, and copies a quarter
    # of the message
    size = int(X0 / 1.5)
    moved_us = (X0 / 100 * 2 + size / 4 * 8 * 1e-3) / 1e3
    assert within("all_reduce", size, "ring Simple") == pytest.approx(7 + 4 * 6 + moved_us)
    assert within("all_reduce", size, "ring LL128") == pytest.approx(5 + moved_us / 0.8)
    # with a ramp of a half, the bytes of X0 / 4 take 4^0.5 times as long each
    quarter_us = 2 * moved_us / 4
    assert within("all_reduce", size // 4, "ring Simple") == pytest.approx(31 + quarter_us)
    # in the switch, links are not shared and nothing is copied
    nvls_us = X0 / 50 / 1e3
    assert within("all_reduce", size, "nvls Simple") == pytest.approx(9 + nvls_us)
    # there, too, the bytes of X0 / 4 take 4^0.5 times as long each
    assert within("all_reduce", size // 4, "nvls Simple") == pytest.approx(9 + 2 * nvls_us / 4)


def test_a_send_has_the_steeper_ramp_and_nine_doublings() -> None:
    two = replace(FOUR, ranks=2)
    moved_us = (X0 / 50 + X0 / 2 * 4 * 1e-3) / 1e3
    assert within("send", X0, "direct Simple", two) == pytest.approx(6 + 2 * 9 + moved_us)
    sixteenth_us = moved_us / 16 * 2  # 16^0.25
    expected = 6 + 18 + sixteenth_us
    assert within("send", X0 // 16, "direct Simple", two) == pytest.approx(expected)
    # the ramp is constant below 100 kB: 5,000^0.25
    tiny_us = (1000 / 50 + 500 * 4e-3) / 1e3 * 5000**0.25
    doubled = 2 * 0.9826  # log2(1 + 1000/1024)
    assert within("send", 1000, "direct Simple", two) == pytest.approx(
        6 + doubled + tiny_us, rel=1e-4
    )


def test_the_latency_of_steps_and_the_transfer_overlap() -> None:
    # with the exponent 2, 24 µs of steps (6 · 4) and the transfer add up like the legs of a right
    # triangle; 7 µs are fixed
    overlapping = replace_fabric(FABRIC, simple_overlap=2.0, ll_overlap=2.0)
    size = int(X0 / 1.5)
    moved_us = (X0 / 100 * 2 + size / 4 * 8 * 1e-3) / 1e3
    choice = Choice("ring", "Simple", 1)
    assert within_us("all_reduce", size, FOUR, choice, overlapping) == pytest.approx(
        7 + (24**2 + moved_us**2) ** 0.5
    )
    # LL: 6 steps of 2 + 0.25 · 3 µs, and 7 KiB · 1.5 at 10 GB/s over shared links
    choice, sent_us = Choice("ring", "LL", 1), 1.5 * 7168 / 10 / 1e3 * 2
    assert within_us("all_reduce", 7168, FOUR, choice, overlapping) == pytest.approx(
        3 + 0.5 * 3 + (16.5**2 + sent_us**2) ** 0.5
    )


def test_a_broadcast_passes_through_the_ranks_at_once() -> None:
    broadcasting = replace_fabric(
        FABRIC,
        bandwidth={**FABRIC.bandwidth, "broadcast": 50},
        copy={**FABRIC.copy, "broadcast": 0},
        sharing=0.0,
    )
    choice = Choice("ring", "LL", 1)
    # one step for any number of ranks: 3 + 2 + (0.5 + 0.25) · 3 doublings, and 7 KiB at 10 GB/s
    for ranks in (2, 4, 8):
        group = replace(FOUR, ranks=ranks)
        assert within_us("broadcast", 7168, group, choice, broadcasting) == pytest.approx(
            3 + 2 + 0.75 * 3 + 0.7168
        )


def test_channels_of_a_send_by_ranks_and_bytes() -> None:
    """32 channels are shared among the peers; one channel serves up to 16 MiB, then their number
    doubles."""
    mib = 2**20
    by_ranks = {
        2: [(1, 16), (256 * mib, 16), (256 * mib + 1, 32)],
        4: [(1, 8), (128 * mib, 8), (128 * mib + 1, 16), (256 * mib + 1, 32), (2**40, 32)],
        8: [(1, 4), (64 * mib, 4), (64 * mib + 1, 8), (2**40, 16)],
    }
    for ranks, sizes in by_ranks.items():
        group = replace(FOUR, ranks=ranks)
        assert [(size, send_channels(size, group)) for size, _ in sizes] == sizes
    assert send_channels(1, replace(FOUR, ranks=64)) == 1  # more peers than channels
    # 4 · 32 channels at most for all peers: 2 for each of 64, one for each of 65 to 128 and more
    for ranks, most in ((32, 4), (33, 2), (64, 2), (65, 1), (128, 1), (129, 1)):
        assert send_channels(2**40, replace(FOUR, ranks=ranks)) == most, ranks
    assert send_channels(1, replace(FOUR, fabric="pcie4")) == 0  # unknown
    assert send_channels(1, TWO_NODES) == 0


def test_a_send_of_few_channels_is_as_fast_as_they_are() -> None:
    # 8 channels of 4 GB/s are slower than links of 50 GB/s; 16 channels are not
    slow = replace_fabric(FABRIC, send_channel=4.0, ramp=0.0, direct_ramp=0.0, sharing=0.0)
    choice, mib = Choice("direct", "Simple", 1), 2**20

    def moved_us(size: int) -> float:
        copied_us = size / 4 * 4 * 1e-6
        return within_us("send", size, FOUR, choice, slow) - 6 - 2 * 9 - copied_us

    assert moved_us(128 * mib) == pytest.approx(128 * mib / 32 / 1e3)
    assert moved_us(129 * mib) == pytest.approx(129 * mib / 50 / 1e3)


def test_a_rank_alone_sends_nothing() -> None:
    assert within("all_reduce", 2**20, "ring LL", replace(FOUR, ranks=1)) == 3


def test_the_network_carries_the_bytes_that_leave_a_node() -> None:
    # 8 ranks per node share its NICs: half of 200 GB/s; half of each rank's data leaves the node
    assert _network_s("all_to_all", 10**9, TWO_NODES, NETWORK) == pytest.approx(
        1e9 * 8 / 16 * 8 / 100e9
    )
    # a ring passes 2·15/16 of the message
    assert _network_s("all_reduce", 10**9, TWO_NODES, NETWORK) == pytest.approx(1.875e9 / 100e9)
    # a rank sends over its own eighth of the NICs
    assert _network_s("send", 10**9, TWO_NODES, NETWORK) == pytest.approx(1e9 / 12.5e9)
    calm = replace(TWO_NODES, ranks=14)
    assert not calm.crowded and calm.ranks_per_node == 7
    assert _network_s("all_gather", 14 * 10**8, calm, NETWORK) == pytest.approx(1.3e9 / 160e9)


def test_steps_between_nodes() -> None:
    five = replace(TWO_NODES, ranks=40, nodes=5)
    ring, tree = Choice("ring", "LL", 1), Choice("tree", "LL", 1)
    assert [_network_steps(k, five, ring) for k in ("all_reduce", "all_gather", "send")] == [
        8,
        4,
        1,
    ]
    assert _network_steps("all_to_all", five, ring) == 1
    # a tree of 5 nodes has depth 3; data go to the root and back
    assert five.tree_depth == 3 and _network_steps("all_reduce", five, tree) == 6
    assert replace(five, nodes=1).tree_depth == 0


def test_bytes_that_a_ring_sends() -> None:
    kinds = ("all_reduce", "all_gather", "all_to_all", "broadcast", "recv")
    assert [steps(kind, 4) for kind in kinds] == [6, 3, 1, 3, 1]
    assert [wire_share(kind, 4) for kind in kinds] == [1.5, 0.75, 0.75, 1, 1]


def test_bytes_over_links_and_in_memory() -> None:
    """Of four ranks. A ring of an all-reduce sends and receives 1.5 messages; three of four ranks
    send a broadcast on, and three receive it. Each rank reads its input and writes its result."""
    kinds = "all_reduce", "all_to_all", "all_gather", "reduce_scatter", "broadcast", "send", "recv"
    assert [link_share(kind, 4) for kind in kinds] == [3, 1.5, 1.5, 1.5, 1.5, 1, 1]
    assert [dram_share(kind, 4) for kind in kinds] == [2, 2, 1.25, 1.25, 1, 1, 1]


def test_other_links_and_no_peer_to_peer_scale_what_moves_bytes() -> None:
    faster, host = _faster(FABRIC, 3.0), _through_host(FABRIC, 0.25)
    assert _faster(replace_fabric(FABRIC, send_channel=20), 3.0).send_channel == 60
    assert (faster.bandwidth["send"], faster.ll_bandwidth, faster.nvls_bandwidth) == (150, 30, 150)
    assert (host.bandwidth["send"], host.ll_bandwidth, host.nvls_bandwidth) == (12.5, 2.5, 50)
    assert faster.transferred and host.transferred and faster.ll_base == host.ll_base == 3


def test_small_messages_take_few_channels() -> None:
    constants = tuning()
    least = constants.threads * constants.bytes_a_thread["Simple"]
    pair = replace(FOUR, ranks=2)
    assert choose("send", 1, pair).channels == choose("send", least, pair).channels == 1
    assert choose("send", least + 1, pair).channels == 2
    most = constants.fabrics["nvlink4"].channels
    assert choose("send", 10**10, pair) == Choice("direct", "Simple", most)


def test_a_collective_over_nodes_is_the_longer_part_and_its_steps() -> None:
    constants, group = profile(), replace(TWO_NODES, network_latency_s=3e-6)
    taken = priced("all_gather", 2**30, group, "eager")
    inside_s = 1e-6 * within_us(
        "all_gather", 2**30, group, taken.choice, constants.fabrics["nvlink4"]
    )
    network_s = _network_s("all_gather", 2**30, group, constants.network)
    # one step between two nodes
    step_s = constants.network.step_us * 1e-6 + 3e-6
    assert taken.seconds == pytest.approx(max(inside_s, network_s) + step_s)


def test_the_spread_changes_at_a_mebibyte() -> None:
    fabric = profile().fabrics["nvlink4"]
    for message_bytes, spread in ((2**20, fabric.spread_small), (2**20 + 1, fabric.spread_large)):
        taken = priced("all_reduce", message_bytes, FOUR, "eager")
        assert taken.interval_s[1] == pytest.approx(taken.seconds * (1 + spread))


def test_a_ring_over_nodes_is_as_fast_as_its_slowest_link() -> None:
    belief = tuning().fabrics["nvlink4"]
    slow = replace(TWO_NODES, network_bytes_per_s=10e9)
    assert _bus_gbytes_per_s("Simple", belief, slow) == 10
    assert _bus_gbytes_per_s("LL", belief, slow) == 5
    assert _bus_gbytes_per_s("LL128", belief, slow) == pytest.approx(9.2)
    assert _bus_gbytes_per_s("Simple", belief, FOUR) == belief.ring_gbytes_per_s
    # NICs of 0.1 GB/s get a protocol too
    assert choose("all_gather", 2**20, replace(slow, network_bytes_per_s=1e8)).algorithm == "ring"
