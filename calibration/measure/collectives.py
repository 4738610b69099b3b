"""Time NCCL's collectives over GPUs of this machine, alone and at the same time as kernels.

`python -m calibration.measure.collectives FILE --seconds 100 --ranks 4 2` writes JSON lines: the
machine, then one line per point, for each number of GPUs. Each protocol is forced by `NCCL_PROTO`
in separate processes; "auto" leaves the choice to NCCL. NVLink multicast stays off. `message_bytes`
is what nccl-tests calls size: the whole array of an all-reduce, the gathered array of an
all-gather, the input of a reduce-scatter. `--odd` times each collective at sizes drawn by hash
instead, without forced protocols and kernels.

    stream_s   back to back on a stream, per call, the slowest rank's median
    graph_s    the same calls replayed from a CUDA graph
    issue_s    host seconds of a call that returns before the GPU is done
    alone_s, beside_s   (part "overlap") a kernel alone, and while collectives run at the same time
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.cuda import nccl

from calibration.cases.case import Step
from calibration.measure.instruments.host_index import REFERENCE
from calibration.measure.instruments.process_group import join
from calibration.measure.instruments.timing import period

SIZES = [1024 * 4**i for i in range(11)]
"""Bytes of a message: 1 KiB to 1 GiB."""
FINE = [2**i for i in range(10, 31)]


def odd_sizes(count: int = 14) -> list[int]:
    """Multiples of 16 bytes from 1 KiB to 512 MiB, one drawn by hash from each of `count` equal
    parts of the logarithm."""
    sizes: list[int] = []
    for i in range(count):
        drawn = int.from_bytes(sha256(f"odd sizes {i}".encode()).digest()[:4]) / 2**32
        sizes.append(16 * round(2 ** (6 + 19 * (i + drawn) / count)))
    return sizes


SHARES = {"auto": 4.0, "LL": 1.0, "LL128": 1.0, "Simple": 1.0}
"""Protocols, each with its share of the time."""
PROTOCOLS = tuple(SHARES)
BESIDE_S = 0.02
"""Seconds for which kernels and collectives run at the same time."""
PORT = 29541
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive")
Call = Callable[[], Any]


def calls(name: str, message_bytes: int, rank: int, ranks: int) -> Call:
    """A collective over `message_bytes` of random bfloat16 data."""
    count = message_bytes // 2
    whole = torch.randn(count, device="cuda", dtype=torch.bfloat16)
    part = torch.randn(count // ranks, device="cuda", dtype=torch.bfloat16)
    peer = rank ^ 1
    exchange = [dist.P2POp(dist.isend, whole, peer), dist.P2POp(dist.irecv, whole.clone(), peer)]

    def send_receive() -> None:
        for work in dist.batch_isend_irecv(exchange):
            work.wait()

    def one_way() -> Any:
        return dist.send(whole, peer) if rank % 2 == 0 else dist.recv(whole, peer)

    torch_2_11: Any = dist  # newer versions have other names for these two
    by_name: dict[str, Call] = {
        "all_reduce": lambda: dist.all_reduce(whole),
        "all_gather": lambda: torch_2_11.all_gather_into_tensor(whole, part),
        "reduce_scatter": lambda: torch_2_11.reduce_scatter_tensor(part, whole),
        "all_to_all": lambda: dist.all_to_all_single(torch.empty_like(whole), whole),
        "broadcast": lambda: dist.broadcast(whole, 0),
        "send_receive": one_way,
        "exchange": send_receive,
    }
    return by_name[name]


def slowest(seconds: float) -> float:
    """The largest of all ranks' figures."""
    value = torch.tensor([seconds], device="cuda", dtype=torch.float64)
    dist.all_reduce(value, op=dist.ReduceOp.MAX)
    return float(value)


def stream_s(call: Call, repeats: int, rounds: int = 5) -> tuple[float, float]:
    """(GPU seconds per call with calls back to back, host seconds to issue one): medians over
    rounds."""
    each: list[float] = []
    issued: list[float] = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        call()
        begin.record()
        at = time.perf_counter()
        for _ in range(repeats):
            call()
        issued.append((time.perf_counter() - at) / repeats)
        end.record()
        end.synchronize()
        each.append(begin.elapsed_time(end) * 1e-3 / repeats)
    return slowest(median(each)), median(issued)


def graph_s(call: Call, repeats: int) -> float:
    """GPU seconds per call, replayed from a CUDA graph of `repeats` calls."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            call()
    graph.replay()
    seconds, _ = stream_s(graph.replay, 3)
    return seconds / repeats


def points(protocol: str, odd: bool = False) -> Iterator[tuple[str, int]]:
    """Collectives and sizes, the most informative first."""
    if odd:
        yield from ((name, size) for size in odd_sizes() for name in KINDS)
        return
    if protocol != "auto":
        yield from ((name, size) for name in ("all_reduce", "all_gather") for size in SIZES)
        yield from (("reduce_scatter", size) for size in SIZES)
        return
    for name in ("all_reduce", "all_gather", "reduce_scatter"):
        yield from ((name, size) for size in FINE)
    for name in ("all_to_all", "broadcast", "send_receive", "exchange"):
        yield from ((name, size) for size in SIZES)


def kernels() -> dict[str, Call]:
    """Kernels of each kind, to run at the same time as a collective."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    small = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    tiny = small[:1024, :1024].contiguous()
    long = torch.randn(2**28, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(long)
    return {
        "product/8192": lambda: a @ b,
        "product/2048": lambda: small @ small,
        "product/1024": lambda: tiny @ tiny,
        "copy/512MiB": lambda: out.copy_(long),
        "copy/16MiB": lambda: out[: 2**23].copy_(long[: 2**23]),
        "gelu/512MiB": lambda: torch.nn.functional.gelu(long),
    }


def overlaps(say: Callable[[dict[str, Any]], None], rank: int, ranks: int) -> None:
    """Time each kernel and a collective, alone and at the same time on two streams."""
    side = torch.cuda.Stream()
    for name, size in (("all_reduce", 2**28), ("all_gather", 2**28), ("reduce_scatter", 2**26)):
        call = calls(name, size, rank, ranks)
        collective_s, _ = stream_s(call, 10, 3)
        for kernel, work in kernels().items():
            one_s, _ = stream_s(work, 10, 3)
            works, collectives = (max(1, round(BESIDE_S / s)) for s in (one_s, collective_s))
            torch.cuda.synchronize()
            dist.barrier()
            torch.cuda.synchronize()
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                marks[0].record()
                for _ in range(collectives):
                    call()
                marks[1].record()
            marks[2].record()
            for _ in range(works):
                work()
            marks[3].record()
            torch.cuda.synchronize()
            say(
                {
                    "part": "overlap",
                    "collective": name,
                    "message_bytes": size,
                    "ranks": ranks,
                    "kernel": kernel,
                    "collective_alone_s": collective_s,
                    "kernel_alone_s": one_s,
                    "collectives": collectives,
                    "kernels": works,
                    "collectives_s": slowest(marks[0].elapsed_time(marks[1]) * 1e-3),
                    "kernels_s": slowest(marks[2].elapsed_time(marks[3]) * 1e-3),
                    "kernels_end_s": slowest(marks[0].elapsed_time(marks[3]) * 1e-3),
                }
            )


def measure(rank: int, ranks: int, protocol: str, path: str, until: float, odd: bool) -> None:
    """Run the measurement of one rank, on one GPU."""
    if protocol != "auto":
        os.environ["NCCL_PROTO"] = protocol
    join(rank, ranks, PORT, timeout_s=40)
    torch.cuda.set_stream(torch.cuda.Stream())

    def say(row: dict[str, Any]) -> None:
        if rank == 0:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    if rank == 0:
        host_s = period(Step(REFERENCE, "cpu"), 0.1, device="cpu").median_s
        say({"part": "host", "protocol": protocol, "ranks": ranks, "host_reference_s": host_s})
    for name, size in points(protocol, odd):
        if slowest(float(time.time() > until)):
            break
        row: dict[str, Any] = {
            "part": "collective",
            "protocol": protocol,
            "collective": name,
            "message_bytes": size,
            "ranks": ranks,
        }
        call = calls(name, size, rank, ranks)
        call()
        repeats = max(3, min(50, int(0.02 / (20e-6 + size / 100e9))))
        row["stream_s"], row["issue_s"] = stream_s(call, repeats)
        if name != "exchange":
            row["graph_s"] = graph_s(call, repeats)
        say(row)
        del call
    if protocol == "auto" and not odd:
        overlaps(say, rank, ranks)
    dist.destroy_process_group()


def main() -> None:
    """Measure until the time limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=100.0)
    parser.add_argument(
        "--ranks", type=int, nargs="*", help="numbers of GPUs to measure in turn; default: all"
    )
    parser.add_argument("--odd", action="store_true", help="sizes drawn by hash")
    arguments = parser.parse_args()
    until = time.time() + arguments.seconds
    gpus = torch.cuda.device_count()
    machine = {
        "gpu": torch.cuda.get_device_name(),
        "ranks": gpus,
        "torch": torch.__version__,
        "nccl": ".".join(map(str, nccl.version())),
    }
    arguments.file.write_text(json.dumps({"machine": machine}) + "\n", "utf-8")
    protocols = ("auto",) if arguments.odd else PROTOCOLS
    runs = [(ranks, protocol) for ranks in arguments.ranks or [gpus] for protocol in protocols]
    for i, (ranks, protocol) in enumerate(runs):
        left_s = until - time.time()
        if left_s < 8:
            break
        weights = [SHARES[each] for _, each in runs[i:]]
        share_s = left_s * weights[0] / sum(weights)
        end = time.time() + share_s
        multiprocessing.spawn(  # pyright: ignore
            measure, (ranks, protocol, str(arguments.file), end, arguments.odd), ranks
        )


if __name__ == "__main__":
    main()
