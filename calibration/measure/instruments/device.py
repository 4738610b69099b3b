"""The measured GPU: its name and data sheet, its other processes, clocks and power.

Needs torch; clocks, power and other processes come from pynvml (package nvidia-ml-py), and stay
unknown without it.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

import simulator
from simulator.errors import InputError

PACKAGED = Path(simulator.__file__).parent / "hardware" / "gpus"
THROTTLES = {
    0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost", 0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown",
}  # fmt: skip
"""NVML's reasons for a clock below the highest, nvmlClocksEventReason*. Idle (1) and a clock that
the user set (2, 0x100) do not count as throttling."""


@dataclass(frozen=True)
class Device:
    """A CUDA GPU with a data sheet: `sheet` is the id of its TOML file."""

    name: str
    sheet: str
    compute_capability: str
    units: int
    memory_bytes: int
    l2_bytes: int
    uuid: str


def find() -> Device:
    """The current CUDA GPU. Raises InputError if there is no CUDA GPU, or no data sheet of it."""
    if torch.version.cuda is None or not torch.cuda.is_available():
        build = f"torch {torch.__version__}, built "
        build += f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
        raise InputError(
            f"no CUDA GPU was found: {build}; expected an NVIDIA GPU with its driver and a CUDA "
            "build of torch. Run this on a GPU machine, or time this host alone with --host-only"
        )
    properties = torch.cuda.get_device_properties()
    return Device(
        name=properties.name,
        sheet=sheet(properties.name, properties.multi_processor_count, properties.total_memory),
        compute_capability=f"{properties.major}.{properties.minor}",
        units=properties.multi_processor_count,
        memory_bytes=properties.total_memory,
        l2_bytes=properties.L2_cache_size,
        uuid=str(properties.uuid),
    )


def sheet(name: str, units: int = 132, memory_bytes: int = 141 * 2**30) -> str:
    """The id of the data sheet that lists this name of a GPU, as torch reports it.

    Letter case and the difference of '-' and '_' are ignored. Raises InputError, with a template of
    a file that has `units` and `memory_bytes`, if no sheet lists it.
    """
    spelling = _spelling(name)
    for path in _paths():
        try:
            spellings = _spellings(path, path.stat().st_mtime_ns)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: not TOML: {error}. Correct or remove the file") from None
        if spelling in spellings:
            return path.stem
    stem = re.sub(r"[^a-z0-9]+", "_", spelling).removeprefix("nvidia_")
    example = (
        f'    name = "{name}"\n'
        f"    units = {units}                     # SMs\n"
        f"    memory_gib = {round(memory_bytes / 2**30)}\n"
        "    boost_mhz = 1980                # this and all below: from the data sheet\n"
        "    bandwidth_gbytes_per_s = 4800\n"
        "    l2_mib = 50\n"
        "    [tensor_tflops]                 # dense, not with sparsity\n"
        "    bf16 = 989.4\n"
        "    [vector_tflops]\n"
        "    fp32 = 66.9"
    )
    raise InputError(
        f"{name!r} has no data sheet: expected a GPU that `ridgepoint gpus` lists under this name. "
        f"Write {users_folder() / f'{stem}.toml'} from the vendor's figures, such as\n{example}\n"
        f"or, if a listed GPU is the same, add {name!r} to the aliases of its file"
    )


@lru_cache(maxsize=256)
def _spellings(path: Path, _mtime_ns: int) -> frozenset[str]:
    """The spellings of all names in a data sheet; an edited file is read again."""
    table = tomllib.loads(path.read_text("utf-8"))
    listed = (path.stem, str(table.get("name", "")), *map(str, table.get("aliases", ())))
    return frozenset(map(_spelling, listed))


def _spelling(name: str) -> str:
    return name.lower().replace("_", "-")


def users_folder() -> Path:
    """The folder of the user's own data sheets, as in `simulator.hardware.gpu`."""
    if named := os.environ.get("RIDGEPOINT_GPUS"):
        return Path(named)
    try:
        import platformdirs  # optional: Ridgepoint is not installed on a measured machine
    except ImportError:  # a GPU machine without the package
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(base) / "ridgepoint" / "gpus"
    return Path(platformdirs.user_config_dir("ridgepoint", False)) / "gpus"


def _paths() -> list[Path]:
    return [*sorted(PACKAGED.glob("*.toml")), *sorted(users_folder().glob("*.toml"))]


def versions() -> dict[str, str | int | None]:
    """Versions of the software, and the CPU's name; None for missing packages."""
    return {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "triton": _version("triton"),
        "python": platform.python_version(),
        "cpu": cpu(),
        "system": platform.platform(terse=True),
    }


def _version(package: str) -> str | None:
    try:
        return str(importlib.import_module(package).__version__)
    except (ImportError, AttributeError):
        return None


def cpu() -> str:
    """The CPU's name and the number of usable logical cores."""
    name = platform.processor() or platform.machine()
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, {os.cpu_count()} logical cores"


class Watch:
    """Clocks, power, throttling and other processes of one GPU, through NVML.

    A figure is None if pynvml is missing or the GPU does not report it; a warning is printed once.
    """

    def __init__(self, device: Device) -> None:
        self.memory_bytes = device.memory_bytes
        self.driver: str | None = None
        self._warned: set[str] = set()
        self._nvml: Any = None
        try:
            self._nvml = importlib.import_module("pynvml")
            self._nvml.nvmlInit()
            uuid = device.uuid if device.uuid.startswith(("GPU-", "MIG-")) else f"GPU-{device.uuid}"
            self._handle: Any = self._nvml.nvmlDeviceGetHandleByUUID(uuid)
            driver = self._nvml.nvmlSystemGetDriverVersion()
            self.driver = driver.decode() if isinstance(driver, bytes) else str(driver)
        except ImportError:
            self._say(
                "pynvml is missing (pip install nvidia-ml-py): clocks, power, throttling and "
                "other processes stay unknown"
            )
            self._nvml = None
        except Exception as error:  # NVML's error class is known only after the import
            self._say(
                f"NVML cannot find this GPU ({error}): clocks, power, throttling and other "
                "processes stay unknown"
            )
            self._nvml = None

    def _say(self, text: str, about: str = "") -> None:
        """Warn once for each text or subject."""
        if (about or text) not in self._warned:
            self._warned.add(about or text)
            print(f"warning: {text}", file=sys.stderr, flush=True)

    def _ask(self, name: str, *arguments: Any) -> Any:
        if self._nvml is None:
            return None
        try:
            return getattr(self._nvml, name)(self._handle, *arguments)
        except (AttributeError, self._nvml.NVMLError):  # not reported by this GPU, driver or pynvml
            return None

    def reading(self) -> dict[str, Any]:
        """`clock_hz` of the SMs, `memory_clock_hz`, `power_w` (averaged by the driver) and the
        names of throttling reasons; call it while the GPU works. Warns once of throttling by
        heat."""
        clock_mhz = self._ask("nvmlDeviceGetClockInfo", 1)  # NVML_CLOCK_SM
        memory_mhz = self._ask("nvmlDeviceGetClockInfo", 2)  # NVML_CLOCK_MEM
        power_mw = self._ask("nvmlDeviceGetPowerUsage")
        mask = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if mask is None:  # the name before 2023
            mask = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        names = None if mask is None else throttles(mask)
        for reason in names or ():
            if reason not in ("sw_power_cap", "sync_boost"):
                self._say(
                    f"the GPU throttles ({reason}), so its samples are marked. Improve its "
                    "cooling or power supply and measure into another folder"
                )
        return {
            "clock_hz": clock_mhz and clock_mhz * 1e6,
            "memory_clock_hz": memory_mhz and memory_mhz * 1e6,
            "power_w": power_mw and round(power_mw * 1e-3, 1),
            "throttle": names,
        }

    def other_processes(self, own_bytes: int) -> float | None:
        """The share of the GPU's memory that other compute processes hold: 0 for none, None if
        unknown. `own_bytes` is the memory of this process. Warns once."""
        listed = self._ask("nvmlDeviceGetComputeRunningProcesses")
        if listed is None:
            return None
        processes = [(p.pid, p.usedGpuMemory) for p in listed]
        rest = others(processes, os.getpid(), own_bytes)
        share = round(sum(max(size or 0, 1) for _, size in rest) / self.memory_bytes, 6)
        if rest:
            self._say(
                f"other processes use this GPU ({len(rest)}, with {share:.1%} of its memory): "
                "samples are marked and may be slow. End those processes and measure into another "
                "folder",
                "others",
            )
        return max(share, 1e-6) if rest else 0.0


def throttles(mask: int) -> list[str]:
    """The names in NVML's mask of reasons."""
    return [name for bit, name in THROTTLES.items() if mask & bit]


def others(
    processes: Sequence[tuple[int, int | None]], own_pid: int, own_bytes: int
) -> list[tuple[int, int | None]]:
    """The other processes among (pid, bytes).

    In a container NVML may list the pids of the host; then the process whose memory is nearest to
    `own_bytes` counts as this one.
    """
    if own_pid in (pid for pid, _ in processes):
        return [each for each in processes if each[0] != own_pid]
    nearest = min(processes, key=lambda each: abs((each[1] or 0) - own_bytes), default=None)
    return [each for each in processes if each is not nearest]
