"""A case to measure on a real GPU, and its prepared step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import nn

from calibration.cases.networks.compiled_host import BLOCKS
from calibration.cases.networks.host import MICRO
from calibration.cases.networks.host_ops import ONE_OP
from calibration.cases.networks.layer_stacks import STACKS
from calibration.cases.networks.libraries.generators import GENERATORS
from calibration.cases.networks.libraries.pictures import PICTURES
from calibration.cases.networks.libraries.sequences import SEQUENCES
from calibration.cases.networks.libraries.torchvision_networks import TORCHVISION
from calibration.cases.networks.own.networks import OWN
from calibration.cases.networks.package_mixtures import MIXTURES
from calibration.cases.networks.packages import SIZED
from calibration.cases.networks.packages_fifth import SIZED_FIFTH
from calibration.cases.networks.packages_fourth import SIZED_FOURTH
from calibration.cases.networks.packages_second import SIZED_SECOND
from calibration.cases.networks.packages_seventh import SIZED_SEVENTH
from calibration.cases.networks.packages_sixth import SIZED_SIXTH
from calibration.cases.networks.packages_small import PACKAGED
from calibration.cases.networks.packages_third import SIZED_THIRD
from simulator.networks.catalogue import build


@dataclass(frozen=True)
class Case:
    """One case to measure on a real GPU. `precision` is fp32, bf16, fp16, autocast (bfloat16) or
    autocast-fp16; `phase` is inference or training; `mode` is eager or one of `TORCH_MODES`. An
    `optimizer` whose name ends in "_compiled" is compiled if the network is; `sizes` override those
    of the catalogue."""

    network: str
    precision: str
    phase: str
    batch: int
    seq: int = 0
    optimizer: str | None = None
    sizes: dict[str, Any] = field(default_factory=dict[str, Any])
    mode: str = "eager"

    @property
    def name(self) -> str:
        """A short unique name, such as `bert-base/autocast/training-adamw/b8s128`."""
        phase = self.phase if self.optimizer is None else f"{self.phase}-{self.optimizer}"
        sizes = "".join(f",{k}={v}" for k, v in self.sizes.items())
        mode = "" if self.mode == "eager" else f"/{self.mode}"
        return f"{self.network}{sizes}/{self.precision}/{phase}/b{self.batch}s{self.seq}{mode}"

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"name": self.name}


def infer(network: str, precisions: str, batch: int, seq: int = 0, **sizes: Any) -> list[Case]:
    return [Case(network, p, "inference", batch, seq, None, sizes) for p in precisions.split()]


def train(
    network: str, precisions: str, batch: int, seq: int = 0, by: str = "adamw", **sizes: Any
) -> list[Case]:
    return [Case(network, p, "training", batch, seq, by, sizes) for p in precisions.split()]


TORCH_MODES = {
    "compiled": None,
    "compiled_graphs": "reduce-overhead",
    "compiled_autotuned": "max-autotune",
}
"""The name of each mode in torch.compile."""

COMPILED_OPTIMIZER = "_compiled"  # suffix of the case's name
SINGLE = "_single"  # suffix of the name of an optimizer that updates one tensor after another
TABLES: tuple[Mapping[str, Callable[..., Any]], ...] = (
    MICRO, BLOCKS, ONE_OP, PACKAGED, SIZED, SIZED_SECOND, SIZED_THIRD, SIZED_FOURTH, SIZED_FIFTH,
    SIZED_SIXTH, SIZED_SEVENTH, MIXTURES, OWN, STACKS, GENERATORS, PICTURES, SEQUENCES, TORCHVISION,
)  # fmt: skip
"""The networks of each source by name; a name that two sources have means the same network."""
_NETWORKS = {name: make for table in TABLES for name, make in table.items()}
"""Networks in addition to the catalogue's, by name."""

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Step:
    """A case prepared on a device; calling it runs one whole step."""

    def __init__(self, case: Case, device: str) -> None:
        torch.manual_seed(0)
        dtype = _DTYPES.get(case.precision, torch.float32)
        with torch.device(device):
            torch.set_default_dtype(dtype)
            try:
                make = _NETWORKS.get(case.network)
                self.module: nn.Module = (
                    make(**case.sizes) if make else build(case.network, **case.sizes)
                )
            finally:
                torch.set_default_dtype(torch.float32)
        self.module.to(dtype)
        self.training = case.phase == "training"
        self.module.train(self.training)
        self.run: Any = self.module
        if case.mode != "eager":
            self.run = torch.compile(self.module, mode=TORCH_MODES[case.mode])
        with torch.device(device):
            self.inputs = self.module.example_inputs(case.batch, case.seq, self.training)  # pyright: ignore
        self.autocast = {"autocast": torch.bfloat16, "autocast-fp16": torch.float16}.get(
            case.precision
        )
        self.optimizer = self._optimizer(case.optimizer) if case.optimizer else None
        self.update: Any = self.optimizer and self.optimizer.step
        if case.mode != "eager" and case.optimizer and case.optimizer.endswith(COMPILED_OPTIMIZER):
            self.update = torch.compile(self.update)

    def _optimizer(self, name: str) -> torch.optim.Optimizer:
        name = name.removesuffix(COMPILED_OPTIMIZER)
        weights = list(self.module.parameters())
        each = False if name.endswith(SINGLE) else None
        name = name.removesuffix(SINGLE)
        if name == "sgd":
            return torch.optim.SGD(weights, lr=1e-5, momentum=0.9, foreach=each)
        if each is False:
            return torch.optim.AdamW(weights, lr=1e-5, foreach=False)
        return torch.optim.AdamW(weights, lr=1e-5, fused=True if name == "adamw_fused" else None)

    def forward(self) -> Any:
        if self.autocast is None:
            return self.run(*self.inputs)
        with torch.autocast("cuda", dtype=self.autocast):
            return self.run(*self.inputs)

    def __call__(self) -> None:
        if not self.training:
            with torch.no_grad():
                self.forward()
            return
        self.forward().loss.backward()
        if self.optimizer is not None:
            self.update()
            self.optimizer.zero_grad()
