"""Run slider events or sweeps for hours, and check that memory does not grow and no file stays
open.

    python -m tests.reliability.soak slider --hours 8 --record
    python -m tests.reliability.soak sweeps --hours 4 --record
    python -m tests.reliability.soak slider --hours 1 --events-per-s 1   # on a shared computer

Resident memory and open files are read every ten seconds. The first half of a run is its warm-up:
caches fill with events, not with time, and a busy computer takes longer for them; the heap grows to
the largest peak so far, ever more rarely. Sweeps begin with one of each network on each card, since
some caches keep values for each of these; the others keep the last values of all. The slope of
memory is that of a line through the later samples, by least squares; the exit status is 1 if it
exceeds twice its error by 1 MB an hour or more, or if files stay open. The explorer runs on Qt's
offscreen platform if there is no display.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import random
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.reliability import promises

_EVERY_S = 10.0
_WARM_UP = 0.5  # of the run
_MOST_MB_PER_H = 1.0
_LEAST = 10  # samples
_MOVES_A_DRAG = 100
_SEED = 7
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Sample(NamedTuple):
    """The process at a time in seconds: events so far, resident bytes, open files, and what is in
    use: bytes from glibc's malloc and blocks of Python's allocator. Resident bytes that grow while
    these do not are free memory between live objects."""

    at_s: float
    events: int
    resident_bytes: int
    files: int
    used_bytes: int = 0
    blocks: int = 0

    def __str__(self) -> str:
        megabytes = f"{self.resident_bytes / 1e6:9.1f} MB"
        used = f"{self.used_bytes / 1e6:9.1f} MB in use {self.blocks:>9,} blocks"
        return f"{self.at_s:8.0f} s {self.events:>8,} {megabytes} {self.files:>4} files {used}"


class Growth(NamedTuple):
    """The growth of memory and open files after the warm-up of a run."""

    mb_per_h: float
    error_mb_per_h: float
    files_before: int
    files_after: int
    events: int
    hours: float

    @property
    def is_flat(self) -> bool:
        grows = self.mb_per_h - 2 * self.error_mb_per_h >= _MOST_MB_PER_H
        return not grows and self.files_after <= self.files_before

    def __str__(self) -> str:
        limits = f"limits: less than {_MOST_MB_PER_H:g} MB/h and no more open files"
        return (
            f"{'passed' if self.is_flat else 'failed'} ({limits}): "
            f"{self.hours * 60:.0f} minutes, {self.events:,} events: memory "
            f"{self.mb_per_h:+.1f} ± {self.error_mb_per_h:.1f} MB/h after the warm-up, open files "
            f"{self.files_before} → {self.files_after}"
        )


def growth(samples: list[Sample]) -> Growth:
    """The slope of memory with its standard error after the warm-up, and the open files in each
    half of that time, as medians: the process that traces is replaced now and then."""
    whole_s = samples[-1].at_s - samples[0].at_s
    begin_s = samples[0].at_s + _WARM_UP * whole_s
    later = [s for s in samples if s.at_s >= begin_s]
    if len(later) < _LEAST:
        sys.exit(f"{len(later)} samples after the warm-up: expected {_LEAST}; run it for longer")
    hours = np.array([s.at_s / 3600 for s in later])
    megabytes = np.array([s.resident_bytes / 1e6 for s in later])
    from_mean = hours - hours.mean()
    spread = float(from_mean @ from_mean)
    slope = float(from_mean @ megabytes) / spread
    left = megabytes - megabytes.mean() - slope * from_mean
    error = float(np.sqrt(left @ left / max(1, len(later) - 2) / spread))
    files = [s.files for s in later]
    half = len(files) // 2
    before, after = (int(np.median(part)) for part in (files[:half], files[half:]))
    return Growth(slope, error, before, after, samples[-1].events, whole_s / 3600)


def slider(seconds: float, every_s: float = 0.0) -> list[Sample]:
    """Drag the explorer's sliders of batch and sequence back and forth; each drag of many moves is
    one undo step. A move begins at least `every_s` seconds after the previous one."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from app.examples import FIRST  # Qt: only for this run
    from app.explorer.background.garbage import keep_one_heap
    from simulator.caches.garbage import collect_seldom
    from tests.benchmarks.explorer_windows import loop_for, opened

    collect_seldom()  # as the command does, and the next line
    keep_one_heap()
    window = opened(FIRST)
    sliders = (window.inspector.batch.slider, window.inspector.seq.slider)
    chance = random.Random(_SEED)

    moves = count()

    def move() -> None:
        each = sliders[next(moves) // _MOVES_A_DRAG % 2]
        each.setValue(chance.randint(each.minimum(), each.maximum()))
        loop_for(chance.choice((5, 20, 100)))

    samples = observed(move, seconds, every_s, lambda left_s: loop_for(round(left_s * 1e3)))
    window.close()
    window.worker.close()
    return samples


def sweeps(seconds: float, every_s: float = 0.0) -> list[Sample]:
    """Sweep batch and sequence of three networks, first once on each card and then on random ones.
    A sweep begins at least `every_s` seconds after the previous one."""
    from simulator.analysis.sweep import sweep
    from simulator.hardware.gpu import gpus
    from simulator.scenario.scenario import Scenario

    chance = random.Random(_SEED)
    cards = [card.id for card in gpus() if card.vendor == "NVIDIA"]
    networks = ("bert-base", "resnet50", "gpt2")
    pairs = [(network, card) for network in networks for card in cards]
    chance.shuffle(pairs)
    first = iter(pairs)

    def once() -> None:
        network, card = next(first, None) or chance.choice(pairs)
        axis = chance.choice(("batch", "seq")) if network != "resnet50" else "batch"
        low = chance.randint(1, 32)
        sweep(Scenario(network, gpu=card), {axis: [low * step for step in range(1, 17)]})

    return observed(once, seconds, every_s, time.sleep)


def observed(
    event: Callable[[], None], seconds: float, every_s: float, wait: Callable[[float], None]
) -> list[Sample]:
    """Repeat an event, and print a sample every ten seconds. An event that ends sooner than
    `every_s` seconds after its start is followed by a wait."""
    began = time.monotonic()
    samples = [_sample(0.0, 0)]
    events = 0
    while samples[-1].at_s < seconds:
        event_began = time.monotonic()
        event()
        events += 1
        left_s = event_began + every_s - time.monotonic()
        if left_s > 0:
            wait(left_s)
        at_s = time.monotonic() - began
        if at_s - samples[-1].at_s >= _EVERY_S:
            samples.append(_sample(at_s, events))
            print(samples[-1], flush=True)
    return samples


def _sample(at_s: float, events: int) -> Sample:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    files = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return Sample(
        at_s, events, pages * _PAGE_BYTES, files, _malloc_bytes(), sys.getallocatedblocks()
    )


class _Mallinfo2(ctypes.Structure):
    """The record of the same name in malloc.h: ten sizes."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    ]  # fmt: skip


def _malloc_bytes() -> int:
    """Bytes in use from malloc, in all arenas and in mappings; 0 without glibc 2.33 or later."""
    read = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if read is None:
        return 0
    read.restype = _Mallinfo2
    of = read()
    return of.uordblks + of.hblkhd


RUNS = {"slider": slider, "sweeps": sweeps}


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", choices=[*RUNS])
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--events-per-s", type=float, default=math.inf, help="at most this rate")
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    samples = RUNS[options.run](options.hours * 3600, 1 / options.events_per_s)
    shown = growth(samples)
    print(shown)
    if options.record:
        event_name = {"slider": "slider events", "sweeps": "sweeps"}[options.run]
        command = f"python -m tests.reliability.soak {options.run} --hours {options.hours:g}"
        if math.isfinite(options.events_per_s):
            command += f" --events-per-s {options.events_per_s:g}"
        promises.write(f"{event_name} for hours leak nothing", command, str(shown))
    return int(not shown.is_flat)


if __name__ == "__main__":
    sys.exit(main())
