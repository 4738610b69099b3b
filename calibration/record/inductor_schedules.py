"""Schedules of the real Inductor for the catalogue: `python -m
calibration.record.inductor_schedules` runs its scheduler, without a GPU, for each case that is not
yet stored for the installed torch. It stores launches, buffers and origins unchanged.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import torch

from calibration.record.read import MEASUREMENTS
from simulator.inductor.exact import question_of, scheduled
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule
from simulator.networks.catalogue import CATALOGUE
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario

FOLDER = MEASUREMENTS / "inductor"
LAYERS = 3
"""The stored blocks of networks that repeat a block: the first, one in the middle, and the last."""
_LEFT_OUT = ("llama3-8b", "llama3-70b", "bert-large", "gpt2-xl", "vit-l16", "mixtral")
"""Prefixes of names of entries that differ from a smaller entry only in their sizes."""
_FEW = ("mlp-tiny", "bert-base", "gpt2", "vit-b16", "resnet18")
_SMALL = {"mlp-tiny": 64, "mlp-wide": 64, "dlrm": 256, "chain": 1, "convnet-tiny": 64}


class Case(msgspec.Struct, frozen=True):
    """One step of a catalogue network."""

    network: str
    dtype: str
    training: bool
    batch: int
    seq: int | None
    sizes: dict[str, int]

    @property
    def scenario(self) -> Scenario:
        return Scenario(
            self.network,
            gpu="h200",
            batch=self.batch,
            seq=self.seq,
            dtype=self.dtype,
            training=self.training,
            optimizer="none" if self.training else None,
            sizes=self.sizes,
        )

    @property
    def name(self) -> str:
        phase = "training" if self.training else "inference"
        return f"{self.network}/{self.dtype}/{phase}"


class Row(msgspec.Struct, frozen=True):
    """A case with its schedule, or with the reason why it could not be compiled."""

    case: Case
    schedule: Schedule | None
    refused: str = ""


def cases() -> Iterator[Case]:
    """Inference and training in bf16, inference in fp32; a few networks in autocast and fp16, since
    most compile to the same as in bf16."""
    for training, dtype, names in (
        (False, "bf16", tuple(CATALOGUE)),
        (True, "bf16", tuple(CATALOGUE)),
        (True, "autocast", _FEW),
        (False, "fp16", _FEW),
        (False, "fp32", tuple(CATALOGUE)),
    ):
        for name in names:
            entry = CATALOGUE[name]
            if _left_out(name) or (training and not entry.trains):
                continue
            if name == "unet" and (training or dtype != "bf16"):
                continue  # these take minutes each
            sequence = entry.seq_unit == "tokens" and entry.seq is not None
            batch = _SMALL.get(name, 2 if sequence else 8)
            sizes = {"layers": LAYERS} if entry.sizes.get("layers", 0) > LAYERS else {}
            yield Case(name, dtype, training, batch, 256 if sequence else None, sizes)


def _left_out(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}-") for each in _LEFT_OUT) and (
        name != "mixtral-small"
    )


def file_of(version: str) -> Path:
    """The file of the schedules of a version of torch."""
    return FOLDER / f"torch-{version.split('+')[0]}.jsonl.gz"


def rows(path: Path) -> list[Row]:
    """The stored rows, in order; empty without a file."""
    if not path.exists():
        return []
    with gzip.open(path) as lines:
        return [msgspec.json.decode(line, type=Row) for line in lines]


def main() -> None:
    """Compile the missing cases, one at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "pattern", nargs="?", default="", help="part of the names of cases to compile again"
    )
    pattern = parser.parse_args().pattern
    path = file_of(torch.__version__)
    path.parent.mkdir(exist_ok=True)
    recorded = {row.case.name: row for row in rows(path)}
    for case in cases():
        if case.name in recorded and not (pattern and pattern in case.name):
            continue
        began = time.perf_counter()
        recorded[case.name] = row = _recorded(case)
        outcome = row.refused or f"{len(row.schedule.launches) if row.schedule else 0} launches"
        print(f"{case.name:40} {time.perf_counter() - began:6.1f} s  {outcome}", flush=True)
        _write(path, list(recorded.values()))


def _recorded(case: Case) -> Row:
    try:
        return Row(case, scheduled(question_of(resolve(case.scenario)), lambda _: None))
    except RefusalError as refusal:
        return Row(case, None, str(refusal))


def _write(path: Path, schedules: list[Row]) -> None:
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for row in schedules:
            out.write(msgspec.json.encode(row) + b"\n")


if __name__ == "__main__":
    main()
