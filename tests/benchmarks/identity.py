"""Show that a change does not alter any prediction, to the last bit.

    python -m tests.benchmarks.identity write before.json
    python -m tests.benchmarks.identity check before.json

It compares the whole catalogue, inference and training, eager, CUDA graph and compiled, on four
GPUs, including the texts of refusals.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from simulator.errors import RidgepointError
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.scenario import Scenario, predict

GPUS = ("h200", "a100", "rtx4090", "v100")
MODES = ("eager", "cuda_graph", "compiled")


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """The name and the scenario of every case; the GPU varies fastest, so that traces are
    shared.
    """
    for network in CATALOGUE:
        for training in (False, True):
            for mode in MODES:
                for gpu in GPUS:
                    phase = "training" if training else "inference"
                    yield (
                        f"{network}/{phase}/{mode}/{gpu}",
                        Scenario(network, gpu=gpu, mode=mode, training=training),
                    )


def figures(scenario: Scenario) -> list[str]:
    """The compared figures of a prediction, floats in hexadecimal; for a refusal, only its text."""
    try:
        prediction = predict(scenario)
    except RidgepointError as error:
        return [str(error)]
    seconds = (
        prediction.period_s,
        prediction.latency_s,
        prediction.gpu_busy_s,
        prediction.host_s,
        *prediction.interval_s,
        *prediction.shares.values(),
        *prediction.columns.duration_s.tolist(),
    )
    return [
        str(prediction.kernel_count),
        str(prediction.peak_memory_bytes),
        prediction.regime,
        *(float(s).hex() for s in seconds),
    ]


def main() -> int:
    """Write the figures, or compare with a written file; returns 1 if a figure differs."""
    action, path = sys.argv[1], Path(sys.argv[2])
    now: dict[str, int] = {}
    texts: dict[str, list[str]] = {}
    for name, scenario in scenarios():
        lines = figures(scenario)
        now[name] = hash_of(lines)
        texts[name] = lines[:9]
        print(name, lines[:4], flush=True)
    if action == "write":
        path.write_text(json.dumps({"hashes": now, "figures": texts}))
        return 0
    before = json.loads(path.read_text())
    changed = [name for name, value in before["hashes"].items() if now.get(name) != value]
    for name in changed:
        print("changed:", name, before["figures"][name], texts.get(name))
    print(f"{len(before['hashes']) - len(changed)} of {len(before['hashes'])} are the same")
    return int(bool(changed))


def hash_of(lines: list[str]) -> int:
    """A number that is equal for equal figures in every process."""
    from hashlib import sha256

    return int.from_bytes(sha256("\n".join(lines).encode()).digest()[:6], "big")


if __name__ == "__main__":
    sys.exit(main())
