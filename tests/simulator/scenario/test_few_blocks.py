"""The trace of a deep network from a few of its blocks equals the trace of all blocks."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from simulator.hardware.gpu import gpu
from simulator.networks.catalogue import CATALOGUE, depth
from simulator.scenario.few_blocks import trace_of_few_blocks
from simulator.scenario.packaged.contents import request_of
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.trace_module import trace_module, whole_trace

H200 = gpu("h200")
SMALL = {"width": 64, "heads": 2, "layers": 11}
POINTS = (1, 16), (3, 40)
PHASES = [("bf16", False), ("autocast", False), ("autocast", True), ("fp32", True)]


def requests(
    network: str, dtype: str, training: bool, points: int = len(POINTS), **sizes: Any
) -> list[TraceRequest]:
    has_seq = CATALOGUE[network].seq is not None
    request = request_of(network, dtype, training, sizes=tuple(sizes.items()))
    return [
        replace(request, batch=batch, seq=seq if has_seq else None)
        for batch, seq in POINTS[:points]
    ]


def check(asked: list[TraceRequest]) -> None:
    for request in asked:
        whole, facts = whole_trace(request, H200)
        answer = trace_of_few_blocks(request, H200, whole_trace)
        assert answer is not None
        # compared as a bool, because an assertion would print both traces in full
        assert (answer[0] == whole) is True
        assert answer[0].signatures[1] == whole.signatures[1]
        assert answer[1] == facts


@pytest.mark.layered(5, daily=["gpt-oss-20b-autocast-True-1"])
@pytest.mark.parametrize(
    ("network", "dtype", "training", "points"),
    [
        ("gpt2", "autocast", True, 2),
        ("bert-base", "fp32", True, 1),
        ("vit-b16", "bf16", False, 1),
        # index_add saves the experts' weighted outputs; its backward frees them without reading
        # them
        ("gpt-oss-20b", "autocast", True, 1),
    ],
)
def test_the_trace_is_that_of_all_blocks(
    network: str, dtype: str, training: bool, points: int
) -> None:
    sizes = SMALL | {"kv_heads": 2, "experts": 4} if "gpt-oss" in network else SMALL
    check(requests(network, dtype, training, points, **sizes))


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "training"), PHASES)
@pytest.mark.parametrize(
    "network",
    [name for name, entry in CATALOGUE.items() if (depth(name, {}) or 0) > 9 and entry.trains],
)
def test_every_deep_network(network: str, dtype: str, training: bool) -> None:
    deep_and_shallow = requests(network, dtype, training)
    if network in ("mixtral", "t5-base"):  # graph breaks; two lists of blocks
        assert trace_of_few_blocks(deep_and_shallow[0], H200, whole_trace) is None
    else:
        check(deep_and_shallow)


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": (("width", 64), ("heads", 2), ("layers", 9))},
        {"sizes": (("width", 64), ("heads", 2), ("layers", 2000))},
        {"frozen": ("blocks.10.*",)},
        {"module_dtypes": (("blocks.10.*", "fp32"),)},
        {"checkpoint": ("blocks.*",)},
        {"data_sizes": (("nonzero", 3),)},
        {"network": "resnet18", "sizes": ()},
    ],
)
def test_shallow_networks_and_requests_that_name_blocks_are_traced_whole(
    change: dict[str, Any],
) -> None:
    def tracer(*_: object) -> Any:
        raise AssertionError("traced")

    request = replace(requests("gpt2", "bf16", False, **SMALL)[0], **change)
    assert trace_of_few_blocks(request, H200, tracer) is None


def test_blocks_of_two_lists_are_traced_whole() -> None:
    request = requests("t5-base", "bf16", False, width=32, heads=2, layers=10)[0]
    assert trace_of_few_blocks(request, H200, whole_trace) is None
    assert len(trace_module(request, H200)[0].ops) == len(whole_trace(request, H200)[0].ops)
