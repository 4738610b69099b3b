"""Kernels by point, from hand-written traces."""

from typing import Any

from calibration.measure.instruments.kernels import kernels_of


def ranged(name: str, ts: float, dur: float, tid: int = 1) -> dict[str, Any]:
    return {"cat": "user_annotation", "name": name, "ts": ts, "dur": dur, "tid": tid}


def launched(
    name: str, number: int, at: float, ts: float, dur: float, tid: int = 1
) -> list[dict[str, Any]]:
    return [
        {
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "ts": at,
            "dur": 1,
            "tid": tid,
            "args": {"correlation": number},
        },
        {"cat": "kernel", "name": name, "ts": ts, "dur": dur, "args": {"correlation": number}},
    ]


def test_warm_and_cold_medians_without_the_flush() -> None:
    events: list[dict[str, Any]] = []
    for run, (warm, cold) in enumerate([(3.0, 8.0), (4.0, 9.0), (30.0, 6.0)]):
        events += [ranged(f"point0.warm{run}", 100 * run, 10)]
        events += launched("add", 10 * run, 100 * run + 5, 5000 + 100 * run, warm)
        events += launched("flush", 10 * run + 1, 100 * run + 20, 5030 + 100 * run, 99.0)
        events += [ranged(f"point0.cold{run}", 100 * run + 30, 10)]
        events += launched("add", 10 * run + 2, 100 * run + 35, 5060 + 100 * run, cold)
    events += [{"cat": "gpu_user_annotation", "name": "point0.warm0", "ts": 5000, "dur": 900}]
    # medians of 3, 4, 30 and of 8, 9, 6 microseconds
    assert kernels_of(events, 2) == [[("add", 4e-6, 8e-6)], []]


def test_launches_of_autograds_thread_count_and_launch_order_rules() -> None:
    events = [
        ranged("point0.warm0", 0, 10),
        *launched("second", 2, 6, 500, 2.0, tid=77),  # began first, on another stream
        *launched("first", 1, 5, 501, 1.0),
        ranged("point0.cold0", 20, 10),
        *launched("first", 3, 25, 600, 3.0),
    ]
    # the cold run launched other kernels, so its time is unknown
    assert kernels_of(events, 1) == [[("first", 1e-6, None), ("second", 2e-6, None)]]


def test_a_graphs_kernels_share_one_launch() -> None:
    events = [ranged("point0.warm0", 0, 10), *launched("a", 1, 5, 500, 1.0)]
    events += [{"cat": "kernel", "name": "b", "ts": 502, "dur": 2.0, "args": {"correlation": 1}}]
    assert [name for name, *_ in kernels_of(events, 1)[0]] == ["a", "b"]


def test_the_usual_sequence_counts() -> None:
    events: list[dict[str, Any]] = []
    for run, names in enumerate(["a", "ab", "ab"]):
        events.append(ranged(f"point0.warm{run}", 100 * run, 50))
        for i, name in enumerate(names):
            events += launched(name, 10 * run + i, 100 * run + i, 100 * run + 9 + i, 1.0 + run)
    assert kernels_of(events, 1) == [[("a", 2.5e-6, None), ("b", 2.5e-6, None)]]
