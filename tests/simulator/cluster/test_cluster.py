from pathlib import Path

import pytest

from simulator.cluster import cluster, clusters
from simulator.errors import InputError

GOOD = """
name = "mine"
gpu = "h200"
nodes = 2
gpus_per_node = 4

[link]
kind = "nvlink"
generation = 4
bandwidth_gbytes_per_s = 450
multicast = true
source = "data sheet"

[network]
kind = "roce"
bandwidth_gbits_per_s = 400
source = "data sheet"
"""


def wrong(tmp_path: Path, before: str, after: str) -> str:
    assert before in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(before, after), "utf-8")
    with pytest.raises(InputError) as caught:
        cluster(path)
    return str(caught.value)


def test_packaged_clusters_are_those_of_the_list():
    assert [(c.id, c.gpus) for c in clusters()] == [
        ("2xh200", 2),
        ("4xh200", 4),
        ("4xrtx4090", 4),
        ("8xh200", 8),
        ("8xl40s", 8),
        ("dgx-a100", 8),
        ("dgx-h100", 8),
        ("hgx-b200", 8),
        ("16xh100-ib", 16),
        ("64xh100-ib", 64),
        ("gb200-nvl72", 72),
    ]
    assert all(c.link.source for c in clusters())


def test_a_file_is_in_human_units_and_the_cluster_in_si(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, "utf-8")
    c = cluster(path)
    assert (c.gpus, c.node_of(3), c.node_of(4)) == (8, 0, 1)
    assert c.link.bandwidth_bytes_per_s == 450e9
    assert c.network is not None
    assert c.network.bandwidth_bytes_per_s == 50e9  # 400 Gb/s / 8


def test_the_general_form_takes_links_from_the_data_sheet():
    c = cluster("3xa100_sxm_80")
    assert (c.gpus, c.link.fabric, c.link.bandwidth_bytes_per_s) == (3, "nvlink3", 300e9)
    pcie = cluster("2xl40s").link
    assert (pcie.fabric, pcie.peer_to_peer) == ("pcie4", True)
    assert not cluster("2xrtx4090").link.peer_to_peer
    assert cluster("1xh200").gpus == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("9xh200", "9 GPUs in one node: expected 1 to 8"),
        ("8xh20000", "unknown GPU 'h20000'"),
        ("dgx-h10", "unknown cluster 'dgx-h10': did you mean 'dgx-h100'"),
        ("none.toml", "no such file: expected a cluster's TOML file"),
    ],
)
def test_unknown_clusters_say_what_was_expected(name, text):
    with pytest.raises(InputError, match=text):
        cluster(name)


def test_nvlink_on_a_card_without_it(tmp_path):
    text = wrong(tmp_path, 'gpu = "h200"', 'gpu = "l40s"')
    assert 'link.kind = "nvlink", but L40S' in text.replace("NVIDIA ", "")
    assert "PCIe4 x16" in text


def test_a_file_that_contradicts_itself(tmp_path):
    assert "contradicts" in wrong(tmp_path, "gbytes_per_s = 450", "gbytes_per_s = 900")
    assert 'expected "nvswitch"' in wrong(
        tmp_path, "multicast = true", 'multicast = true\ntopology = "mesh"'
    )
    network = GOOD[GOOD.index("[network]") :]
    assert "nodes = 2 without a [network]" in wrong(tmp_path, network, "")
    for rate in ("1e-320", "nan", "0"):
        link = wrong(tmp_path, "bandwidth_gbytes_per_s = 450", f"bandwidth_gbytes_per_s = {rate}")
        assert "Expected `float` >= 0.001 - at `$.link.bandwidth_gbytes_per_s`" in link
        nic = wrong(tmp_path, "bandwidth_gbits_per_s = 400", f"bandwidth_gbits_per_s = {rate}")
        assert "Expected `float` >= 0.001 - at `$.network.bandwidth_gbits_per_s`" in nic
    deep = wrong(tmp_path, "nodes = 2", f"nodes = {'[' * 1900}")
    assert "is not valid TOML: maximum recursion depth exceeded" in deep
    assert "unknown field `speed`" in wrong(tmp_path, "nodes = 2", "nodes = 2\nspeed = 3")
