"""Time generated kernels and the host work of compiled steps: `python -m calibration.generated
FOLDER`.

Needs a CUDA GPU, PyTorch and Triton. First everything is compiled, by one process per core; then
the host's cases are timed into `FOLDER/compiled_host.jsonl`, and each function alone into
`FOLDER/generated_1.jsonl` and, tuned again, `generated_2.jsonl`. Inductor chooses between tiles by
timing them, and its choice varies between tiles of similar speed. Every line is written to disk at
once; the same command continues where an earlier one ended.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CACHE = Path(tempfile.gettempdir()) / "generated-kernels"


def compiling() -> dict[str, str]:
    """The settings of every process, so that all share their compiled results."""
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(CACHE),
        "TRITON_CACHE_DIR": str(CACHE / "triton"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
        "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
    }


def warm(seconds: float, limit: int | None) -> None:
    """Compile everything, and discard tuning results from the time when other processes used the
    GPU."""
    count = max(1, min(16, (os.cpu_count() or 2) - 1))
    command = [sys.executable, "-m", "calibration.generated.warm"]
    more = ["--seconds", str(seconds), *(["--limit", str(limit)] if limit else [])]
    running = [
        subprocess.Popen([*command, str(share), str(count), *more]) for share in range(count)
    ]
    until = time.perf_counter() + seconds + 30
    for each in running:
        try:
            each.wait(max(1.0, until - time.perf_counter()))
        except subprocess.TimeoutExpired:
            each.kill()


def untune() -> None:
    """Discard tuning results, since they depend on other processes and on small differences in
    time."""
    for tuned in CACHE.rglob("*.best_config"):
        tuned.unlink()


def timed(module: str, folder: Path, seconds: float, *options: str) -> None:
    """Run a measuring module on the folder, in a separate process."""
    command = [sys.executable, "-m", module, str(folder), "--seconds", str(seconds), *options]
    try:
        subprocess.run(command, timeout=seconds + 25, check=False)
    except subprocess.TimeoutExpired:
        print(f"{module} took too long", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=570.0, help="time limit of the run (%(default)s)"
    )
    parser.add_argument("--limit", type=int, help="only the first N points and host cases")
    parser.add_argument(
        "--rounds",
        type=int,
        default=2,
        help="number of rounds, each with a new tuning (%(default)s)",
    )
    parser.add_argument("--first", type=int, default=1, help="the first round's number")
    parser.add_argument("--skip-host", action="store_true", help="no host cases")
    options = parser.parse_args()
    began_s = time.perf_counter()
    options.folder.mkdir(parents=True, exist_ok=True)
    limited = ["--limit", str(options.limit)] if options.limit else []
    os.environ |= compiling()  # torch reads these in the child processes
    warm(0.3 * options.seconds, options.limit)
    print(f"compiled after {time.perf_counter() - began_s:.0f} s", flush=True)
    if not options.skip_host:
        suite = ["--suite", "compiled_host", *limited]
        timed("calibration.record.write", options.folder, 0.25 * options.seconds, *suite)
        print(f"the host timed after {time.perf_counter() - began_s:.0f} s", flush=True)
    for number in range(options.first, options.first + options.rounds):
        untune()
        left_s = began_s + options.seconds - time.perf_counter()
        numbered = ["--round", str(number), *limited]
        timed("calibration.generated.sweep", options.folder, left_s, *numbered)


if __name__ == "__main__":
    main()
