import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from simulator.cluster import cluster
from simulator.collectives import collective_time
from simulator.errors import InputError

ROOT = Path(__file__).parents[3]
MEASUREMENTS = ROOT / "calibration" / "measurements"
MACHINES = {2: "h200_sxm_x2", 4: "h100_sxm_x4"}


def rows(ranks: int) -> list[dict]:
    """GPU seconds measured on two H200s or four H100s, except those that the host determines."""
    path = MEASUREMENTS / MACHINES[ranks] / "collectives.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    rows = [r for r in lines if r.get("protocol") == "auto" and r.get("ranks") == ranks]
    rows = [r for r in rows if r["part"] == "collective" and r["collective"] != "exchange"]
    for row in rows:
        row["seconds"] = row.get("graph_s") or row["stream_s"]
    return [r for r in rows if "graph_s" in r or r["stream_s"] > 1.4 * r["issue_s"]]


def errors(ranks: int, least: int, most: int) -> np.ndarray:
    machine = cluster(f"{ranks}xh200")
    errors = []
    for r in rows(ranks):
        if least < r["message_bytes"] <= most:
            kind = "send" if r["collective"] == "send_receive" else r["collective"]
            modelled = collective_time(kind, r["message_bytes"], machine)
            errors.append(modelled.seconds / r["seconds"] - 1)
    return np.abs(np.array(errors))


@pytest.mark.parametrize("ranks", [2, 4])
def test_large_collectives_are_as_measured(ranks: int):
    messages = errors(ranks, 2**20, 2**40)
    assert messages.size > 35
    assert np.median(messages) < 0.04
    assert np.quantile(messages, 0.9) < 0.10


@pytest.mark.parametrize(
    ("ranks", "count"),
    [(2, 33), (4, 51)],  # 3 collectives of 11 sizes in a graph; and 3 more of 6 sizes
)
def test_small_collectives_are_as_measured(ranks: int, count: int):
    messages = errors(ranks, 0, 2**20)
    assert messages.size == count
    assert np.median(messages) < 0.06
    assert np.quantile(messages, 0.9) < 0.15


@pytest.mark.parametrize(
    ("kind", "last_ll"), [("all_reduce", 2**20), ("all_gather", 2**21), ("reduce_scatter", 2**21)]
)
def test_nccl_leaves_ll_where_the_measured_times_jump(kind, last_ll):
    two = cluster("2xh200")
    assert collective_time(kind, last_ll, two).choice.protocol == "LL"
    assert collective_time(kind, 2 * last_ll, two).choice.protocol == "Simple"


def test_nvls_is_chosen_from_five_gpus_with_multicast():
    assert collective_time("all_reduce", 2**28, cluster("8xh200")).choice.algorithm == "nvls"
    assert collective_time("all_reduce", 2**28, cluster("4xh200")).choice.algorithm == "ring"
    assert collective_time("all_gather", 2**28, cluster("8xh200")).choice.algorithm == "ring"


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "all_to_all", "broadcast", "send"])
def test_more_bytes_take_longer(kind):
    for name in ("2xh200", "8xl40s", "dgx-a100", "16xh100-ib"):
        c = cluster(name)
        times = [collective_time(kind, 2**n, c).seconds for n in range(10, 34, 4)]
        assert times == sorted(times)


def test_no_link_is_exceeded():
    for name in ("2xh200", "dgx-a100", "hgx-b200", "64xh100-ib"):
        c = cluster(name)
        n = c.gpus
        sent = 2**32 * (n - 1) / n  # bytes that each GPU sends in an all-gather
        assert sent / collective_time("all_gather", 2**32, c).seconds < c.link.bandwidth_bytes_per_s


def test_a_graph_needs_no_host_and_transferred_links_say_so():
    two = cluster("2xh200")
    assert collective_time("all_reduce", 1024, two).period_s > 15e-6
    assert collective_time("all_reduce", 1024, two, mode="cuda_graph").period_s < 8e-6
    assert collective_time("all_reduce", 1024, cluster("hgx-b200")).tier == "transferred"


def test_bad_input():
    two = cluster("2xh200")
    with pytest.raises(InputError, match="unknown collective 'allreduce': expected one of"):
        collective_time("allreduce", 1, two)
    with pytest.raises(InputError, match="rank 2 on 2xh200, which has 2 GPUs"):
        collective_time("all_reduce", 1, two, (0, 2))
    with pytest.raises(InputError, match="message_bytes = -1: expected 0 or more"):
        collective_time("all_reduce", -1, two)
    assert collective_time("barrier", 0, two).seconds > 0


def test_a_file_with_slower_links_takes_longer(tmp_path: Path):
    """H800s have 8 of 18 NVLinks: 200 GB/s instead of 450. Everything that moves bytes takes 2.25
    times as long."""
    path = tmp_path / "two.toml"
    text = (
        'name = "two cards"\ngpu = "h200"\ngpus_per_node = 2\n[link]\nkind = "nvlink"\n'
        'generation = 4\nbandwidth_gbytes_per_s = {}\ntopology = "nvswitch"\nsource = "test"\n'
    )
    seconds = {}
    for gbytes_per_s in (450, 200):
        path = tmp_path / f"{gbytes_per_s}.toml"
        path.write_text(text.format(gbytes_per_s), "utf-8")
        seconds[gbytes_per_s] = collective_time("all_reduce", 2**30, cluster(path)).seconds
    plain = collective_time("all_reduce", 2**30, cluster("2xh200")).seconds
    assert seconds[450] == pytest.approx(plain)
    # a tenth is the copy of the rank's own part within its memory
    assert 2.0 < seconds[200] / plain < 2.25
