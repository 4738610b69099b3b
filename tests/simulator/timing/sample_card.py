"""A card with round energies, and a load of one kernel on it."""

from __future__ import annotations

import numpy as np

from simulator.timing.energies import Energies
from simulator.timing.load import Load
from simulator.timing.power import Supply
from simulator.timing.roofline import Roofs
from simulator.timing.voltage import Voltage

MADE_UP = Energies(
    gpu="made up", source="by hand", clock_hz=1e9, idle_w=100, clocked_w=0, busy_w=0,
    tensor_j_per_flop={}, tensor_w=0,
    vector_j_per_flop={}, instruction_j=0, lane_j=0, l2_j_per_byte=0, dram_j_per_byte=1e-10,
    launch_j=0, collective_w=0, link_j_per_byte=0, held=1.0, interval=(0.9, 1.1),
    voltage=Voltage(
        volts=((0.1, 0.55), (1.0, 1.0)), speeds=((0.0, 0.0), (1.0, 1.0)), tensor_clock=1.0
    ),
)  # fmt: skip


def load(
    compute_s: float, memory_s: float, chip_j: float, dram_bytes: float, tensor_j: float = 0.0
) -> Load:
    """One kernel that slows with the clock like vector lanes."""
    zero = np.zeros(1)
    columns = dict.fromkeys(Roofs.__dataclass_fields__, zero) | {
        "compute_s": np.array([compute_s]),
        "cold_s": np.array([memory_s]),
        "chip_j": np.array([chip_j]),
        "tensor_j": np.array([tensor_j]),
        "bytes": np.array([dram_bytes]),
    }
    return Load(Roofs(**columns), zero, np.ones(1))


def made_up(limit_w: float, measured: bool = True) -> Supply:
    return Supply(MADE_UP, limit_w, 500.0, 1e9, measured)
