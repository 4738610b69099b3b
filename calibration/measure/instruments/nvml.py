"""Energy, power and clocks of the current GPU, read from the driver's own library.

It uses ctypes on libnvidia-ml, which comes with every driver, so that measuring energy needs no
further package. Functions and constants are those of NVIDIA's NVML API reference. It only reads.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Protocol

_CLOCK_SM, _CLOCK_MEMORY, _TEMPERATURE_GPU = 1, 2, 0
COLUMNS = ("time_s", "energy_j", "power_w", "clock_hz", "memory_clock_hz", "celsius", "reasons")
"""The fields of one reading. `power_w` is averaged by the driver, over one second on Hopper;
`reasons` is NVML's mask of reasons for a lowered clock (4: software power cap, 1: idle)."""

Row = tuple[float | None, ...]


class Meter(Protocol):
    """A source of readings."""

    def reading(self) -> Row: ...

    def limits(self) -> dict[str, float | None]: ...


class Nvml:
    """The GPU with this UUID. Raises OSError without a driver, RuntimeError if NVML refuses."""

    def __init__(self, uuid: str) -> None:
        self._library: Any = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        name = uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
        for code in (
            self._library.nvmlInit_v2(),
            self._library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._device)),
        ):
            if code:
                raise RuntimeError(f"NVML answers {code} for the GPU {name}")

    def _read(self, function: str, kind: Any, *arguments: int) -> int | None:
        value = kind()
        try:
            code = getattr(self._library, function)(self._device, *arguments, ctypes.byref(value))
        except AttributeError:  # an older driver
            return None
        return None if code else int(value.value)

    def _scaled(self, function: str, unit: float, *arguments: int) -> float | None:
        value = self._read(function, ctypes.c_uint, *arguments)
        return None if value is None else value * unit

    def energy_j(self) -> float | None:
        """Joules since the driver was loaded."""
        millijoules = self._read("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong)
        return None if millijoules is None else millijoules * 1e-3

    def reading(self) -> Row:
        """One value for each of `COLUMNS`; None if this GPU does not report it."""
        energy_j = self.energy_j()
        now_s = time.perf_counter()
        reasons = self._read("nvmlDeviceGetCurrentClocksEventReasons", ctypes.c_ulonglong)
        if reasons is None:  # the name before 2023
            reasons = self._read("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)
        return (
            now_s,
            energy_j,
            self._scaled("nvmlDeviceGetPowerUsage", 1e-3),
            self._scaled("nvmlDeviceGetClockInfo", 1e6, _CLOCK_SM),
            self._scaled("nvmlDeviceGetClockInfo", 1e6, _CLOCK_MEMORY),
            self._scaled("nvmlDeviceGetTemperature", 1, _TEMPERATURE_GPU),
            reasons,
        )

    def limits(self) -> dict[str, float | None]:
        """The current power limit, the default one, and the highest clocks."""
        return {
            "limit_w": self._scaled("nvmlDeviceGetEnforcedPowerLimit", 1e-3),
            "default_limit_w": self._scaled("nvmlDeviceGetPowerManagementDefaultLimit", 1e-3),
            "highest_clock_hz": self._scaled("nvmlDeviceGetMaxClockInfo", 1e6, _CLOCK_SM),
            "highest_memory_clock_hz": self._scaled("nvmlDeviceGetMaxClockInfo", 1e6, 2),
        }


class FakeMeter:
    """A fake GPU that always draws 300 W, for test runs without a GPU."""

    def reading(self) -> Row:
        now_s = time.perf_counter()
        return (now_s, math.floor(now_s * 50) * 6.0, 300.0, 1.98e9, 3.2e9, 40.0, 0)

    def limits(self) -> dict[str, float | None]:
        return {
            "limit_w": 700.0,
            "default_limit_w": 700.0,
            "highest_clock_hz": 1.98e9,
            "highest_memory_clock_hz": 3.2e9,
        }


@dataclass
class Readings:
    """Readings at an interval, from a separate thread, while the GPU works."""

    meter: Meter
    every_s: float = 0.04
    rows: list[Row] = field(default_factory=list[Row])

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.is_set():
            self.rows.append(self.meter.reading())
            self._over.wait(self.every_s)

    def __enter__(self) -> Readings:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
