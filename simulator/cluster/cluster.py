"""A cluster: nodes of identical GPUs, the links within a node and the network between nodes.

A cluster is one TOML file, in `simulator/cluster/clusters` or at any path, with human units in the
file and SI units here. "4xh200" is one node of four GPUs with the links of the GPU's data sheet.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from simulator.caches.identity import ByIdentity
from simulator.cluster.cluster_file import LinkTable, NetworkTable, Tables, read
from simulator.errors import InputError
from simulator.formats.limited import absence
from simulator.formats.present import Stamp, stamp
from simulator.formats.toml import shown
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu

FOLDER = Path(__file__).parent / "clusters"
_GENERAL = re.compile(r"^([0-9]{1,9})x(.+)$", re.IGNORECASE)
_LARGEST_NODE = 8  # most GPUs on one host board; larger nodes need a file
PCIE_BYTES_PER_S = {3: 16e9, 4: 32e9, 5: 64e9, 6: 128e9}
"""Bytes/s of 16 lanes in one direction by generation (PCI-SIG, before encoding)."""


class Link(msgspec.Struct, frozen=True):
    """The links of a GPU to the others of its node.

    kind               "nvlink" or "pcie"
    generation         of NVLink or PCIe
    bandwidth_bytes_per_s  of all links of one GPU in one direction
    topology           "nvswitch", "mesh", "tree" (PCIe switches below sockets) or "none"
    multicast          whether NCCL may reduce in the switch (NVLS)
    peer_to_peer       if False, data between GPUs goes through the host's memory
    latency_s          seconds that one hop adds to those in the collectives' profile
    times              factor on the speed of the links (a what-if)
    """

    kind: Literal["nvlink", "pcie"]
    generation: int
    bandwidth_bytes_per_s: float
    topology: str
    multicast: bool
    peer_to_peer: bool
    latency_s: float
    source: str
    times: float = 1.0

    @property
    def fabric(self) -> str:
        """The name of the links' profile, such as "nvlink4"."""
        return f"{self.kind}{self.generation}"


class Network(msgspec.Struct, frozen=True):
    """The network between nodes: `bandwidth_bytes_per_s` is that of one NIC in one direction."""

    kind: str
    bandwidth_bytes_per_s: float
    nics_per_gpu: float
    latency_s: float
    source: str


class Cluster(msgspec.Struct, frozen=True):
    """Nodes of identical GPUs. Ranks are numbered node by node."""

    id: str
    name: str
    gpu: GPU
    nodes: int
    gpus_per_node: int
    link: Link
    network: Network | None = None
    notes: str = ""

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    def node_of(self, rank: int) -> int:
        return rank // self.gpus_per_node

    def faster(self, link_speed: float = 1.0, network_speed: float = 1.0) -> Cluster:
        """The cluster with links `link_speed` times as fast and a network `network_speed` times as
        fast."""
        network = self.network and msgspec.structs.replace(
            self.network,
            bandwidth_bytes_per_s=self.network.bandwidth_bytes_per_s * network_speed,
        )
        link = msgspec.structs.replace(self.link, times=self.link.times * link_speed)
        return msgspec.structs.replace(self, link=link, network=network)

    def of_gpus(self, count: int) -> Cluster:
        """The cluster with `count` GPUs: a part of one node, or whole nodes. Raises InputError for
        a count that does not fill its nodes, and for several nodes without a network."""
        per_node = min(count, self.gpus_per_node)
        if count < 1 or count % per_node:
            raise InputError(
                f"{count} GPUs of {self.id}: expected 1 to {self.gpus_per_node}, or a multiple of "
                f"{self.gpus_per_node}; change the number"
            )
        nodes = count // per_node
        if nodes > 1 and self.network is None:
            raise InputError(
                f"{count} GPUs of {self.id}: it has no network between nodes: expected at "
                f"most {self.gpus_per_node}, the GPUs of one node; name a cluster of several nodes"
            )
        return msgspec.structs.replace(self, nodes=nodes, gpus_per_node=per_node)


def cluster(name_or_path: str | Path) -> Cluster:
    """The cluster of this id or TOML file, or of the general form "8xh200". Raises InputError for
    an unknown name and for an invalid file."""
    text = str(name_or_path)
    if text.lower().endswith(".toml"):
        return _load(Path(text))
    wanted = text.lower().replace("_", "-")
    if wanted in ids():
        return _load(FOLDER / f"{wanted}.toml")
    match = _GENERAL.match(text)
    if match:
        return _one_node(text, int(match[1]), find_gpu(match[2]))
    if os.sep in text or absence(Path(text)) != "no such file":
        raise InputError(
            f"--cluster {text!r}: {absence(Path(text))}: expected a cluster's TOML file, "
            "whose name ends in .toml, or a cluster's name (`ridgepoint clusters`)"
        )
    near = get_close_matches(wanted[:64], ids(), 2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise InputError(
        f"unknown cluster {shown(text)}: {hint}expected one of {', '.join(ids())}, the general "
        "form '4xh200' for one node, or a cluster's TOML file"
    )


def ids() -> tuple[str, ...]:
    """The packaged clusters' names."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def clusters() -> tuple[Cluster, ...]:
    """Every packaged cluster, the smallest first."""
    return tuple(sorted(map(cluster, ids()), key=lambda c: (c.gpus, c.id)))


_CLUSTERS: ByIdentity[Cluster] = ByIdentity(128)
"""Clusters by their GPU and file."""


def _load(path: Path) -> Cluster:
    """The cluster of a file; an edited file, or an edited file of its GPU, is read again."""
    key = stamp(path)
    tables = _tables(path, key)
    card = find_gpu(tables.gpu)
    return _CLUSTERS.get(card, (path, key), lambda: _of_tables(path, tables, card))


@lru_cache
def _tables(path: Path, _stamp: Stamp | None) -> Tables:
    return read(path)


def _of_tables(path: Path, tables: Tables, card: GPU) -> Cluster:
    link = _link(path, card, tables.link)
    network = None if tables.network is None else _network(tables.network)
    if tables.nodes > 1 and network is None:
        raise InputError(
            f"{path}: nodes = {tables.nodes} without a [network]: expected the links between "
            "nodes; add the table, or set nodes = 1"
        )
    return Cluster(
        path.stem,
        tables.name,
        card,
        tables.nodes,
        tables.gpus_per_node,
        link,
        network,
        tables.notes,
    )


def _link(path: Path, card: GPU, table: LinkTable) -> Link:
    if table.kind == "nvlink" and not _nvlink(card):
        raise InputError(
            f'{path}: link.kind = "nvlink", but {card.name} has {card.interconnect or "no links"}: '
            'expected "pcie"; correct the link or the gpu'
        )
    most = (card.interconnect_bytes_per_s or 0) / 2
    speed = table.bandwidth_gbytes_per_s * 1e9
    if table.kind == "nvlink" and speed > most * 1.001:
        raise InputError(
            f"{path}: link.bandwidth_gbytes_per_s = {table.bandwidth_gbytes_per_s:g} contradicts "
            f"{card.name}, whose links have {most / 1e9:g} GB/s in one direction; correct "
            "one of them"
        )
    if table.multicast and table.topology != "nvswitch":
        raise InputError(
            f'{path}: link.multicast = true with topology = "{table.topology}": expected '
            '"nvswitch", since only a switch can reduce; correct one of them'
        )
    return Link(
        table.kind,
        table.generation,
        speed,
        table.topology,
        table.multicast,
        table.peer_to_peer,
        table.latency_us * 1e-6,
        table.source,
    )


def _network(table: NetworkTable) -> Network:
    return Network(
        table.kind,
        table.bandwidth_gbits_per_s * 1e9 / 8,
        table.nics_per_gpu,
        table.latency_us * 1e-6,
        table.source,
    )


def _nvlink(card: GPU) -> int:
    """The generation of a GPU's NVLink; 0 if the GPU has no NVLink."""
    match = re.search(r"NVLink\s*(\d)", card.interconnect or "", re.IGNORECASE)
    return int(match[1]) if match else 0


def _one_node(text: str, count: int, card: GPU) -> Cluster:
    if not 1 <= count <= _LARGEST_NODE:
        raise InputError(
            f"cluster {text!r}: {count} GPUs in one node: expected 1 to {_LARGEST_NODE}; describe "
            "larger ones in a TOML file with nodes and a [network]"
        )
    generation = _nvlink(card)
    speed = (card.interconnect_bytes_per_s or 0) / 2
    source = f"data sheet of {card.name}"
    if generation and speed:
        link = Link("nvlink", generation, speed, "nvswitch", generation >= 4, True, 0.0, source)
    else:
        pcie = re.search(r"PCIe\s*(\d)", card.interconnect or "", re.IGNORECASE)
        version = int(pcie[1]) if pcie else 4
        geforce = "rtx" in card.id and "ada" not in card.id and "a6000" not in card.id
        link = Link(
            "pcie",
            version,
            speed or PCIE_BYTES_PER_S.get(version, 32e9),
            "tree",
            False,
            not geforce,
            0.0,
            source,
        )
    return Cluster(text.lower(), f"{count} × {card.name}", card, 1, count, link)
