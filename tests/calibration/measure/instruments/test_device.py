"""The choice of the GPU: refusals, and the answers of NVML, on machines without a GPU and NVML."""

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from calibration.measure.instruments import device
from calibration.measure.instruments.device import Device, Watch, find, others, sheet, throttles
from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.hardware.gpu_file import read

H200 = Device("NVIDIA H200", "h200_sxm", "9.0", 132, 150 * 10**9, 60 * 2**20, "abc")


@pytest.fixture(autouse=True)
def no_user_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RIDGEPOINT_GPUS", str(tmp_path))
    return tmp_path


def pretend(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    properties = SimpleNamespace(
        name=name,
        multi_processor_count=48,
        total_memory=12 * 2**30,
        major=9,
        minor=0,
        L2_cache_size=60 * 2**20,
        uuid="abc",
    )
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda: properties)


@pytest.mark.parametrize(
    ("cuda", "build"), [(None, "built without CUDA"), ("13.0", "built for CUDA 13.0")]
)
def test_no_gpu(monkeypatch: pytest.MonkeyPatch, cuda: str | None, build: str) -> None:
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError) as caught:
        find()
    assert str(caught.value).startswith(
        f"no CUDA GPU was found: torch {torch.__version__}, {build}"
    )
    assert "expected an NVIDIA GPU" in str(caught.value) and "--host-only" in str(caught.value)


def test_the_h200(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "NVIDIA H200")
    device = find()
    assert (device.sheet, device.compute_capability, device.units) == ("h200_sxm", "9.0", 48)


def test_every_name_of_every_gpu_finds_its_sheet() -> None:
    for gpu in gpus():
        for name in (gpu.id, gpu.name, *gpu.aliases):
            assert sheet(name) == sheet(name.upper()) == gpu.id


def test_a_gpu_without_a_file_gets_a_template(
    monkeypatch: pytest.MonkeyPatch, no_user_files: Path
) -> None:
    pretend(monkeypatch, "NVIDIA GeForce RTX 6090-D")
    with pytest.raises(InputError, match="'NVIDIA GeForce RTX 6090-D' has no data sheet") as caught:
        find()
    path = no_user_files / "geforce_rtx_6090_d.toml"
    message = str(caught.value)
    assert f"Write {path} from the vendor's figures" in message
    example = "\n".join(line for line in message.splitlines() if line.startswith("    "))
    assert tomllib.loads(example)["memory_gib"] == 12 and tomllib.loads(example)["units"] == 48
    path.write_text(example)
    assert read(path)["bandwidth_bytes_per_s"] == 4800e9  # the printed text is a valid GPU file
    assert find().sheet == "geforce_rtx_6090_d"


def test_a_broken_data_sheet_is_reported(no_user_files: Path) -> None:
    (no_user_files / "mine.toml").write_text("name = ")
    with pytest.raises(InputError, match=r"mine\.toml: not TOML: .*Correct or remove"):
        sheet("NVIDIA Nothing")


def test_the_users_folder_without_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIDGEPOINT_GPUS")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    assert device.users_folder() == Path("/somewhere/ridgepoint/gpus")


def test_throttling_is_named() -> None:
    assert throttles(0) == throttles(0x1 | 0x2 | 0x100) == []
    assert throttles(0x4 | 0x40) == ["sw_power_cap", "hw_thermal_slowdown"]


def test_other_processes() -> None:
    assert others([], 5, 0) == []
    assert others([(5, 900), (6, 100), (7, None)], 5, 100) == [(6, 100), (7, None)]
    # pids from outside a container: the nearest in size is this one
    assert others([(1005, 900), (1006, 100)], 5, 850) == [(1006, 100)]


class NVML(SimpleNamespace):
    class NVMLError(Exception):
        pass

    def __init__(self, **replies: Any) -> None:
        self.replies = {
            "nvmlInit": None,
            "nvmlDeviceGetHandleByUUID": "handle",
            "nvmlSystemGetDriverVersion": b"580.1",
            **replies,
        }

    def __getattr__(self, name: str) -> Any:
        def reply(*arguments: Any) -> Any:
            if name not in self.replies:
                raise NVML.NVMLError("not supported")
            value = self.replies[name]
            return value(*arguments) if callable(value) else value

        return reply


def watch(monkeypatch: pytest.MonkeyPatch, nvml: Any) -> Watch:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return Watch(H200)


def test_clocks_power_and_heat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clocks = {1: 1980, 2: 3201}
    nvml = NVML(
        nvmlDeviceGetClockInfo=lambda handle, kind: clocks[kind],
        nvmlDeviceGetPowerUsage=699_500,
        nvmlDeviceGetCurrentClocksThrottleReasons=0x44,
    )
    watched_rows = watch(monkeypatch, nvml)
    for _ in range(2):
        assert watched_rows.reading() == {
            "clock_hz": 1980e6,
            "memory_clock_hz": 3201e6,
            "power_w": 699.5,
            "throttle": ["sw_power_cap", "hw_thermal_slowdown"],
        }
    assert watched_rows.driver == "580.1"
    printed = capsys.readouterr().err
    assert printed.count("warning: the GPU throttles (hw_thermal_slowdown)") == 1
    assert "(sw_power_cap)" not in printed


def test_other_processes_are_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    processes = [
        SimpleNamespace(pid=1, usedGpuMemory=10),
        SimpleNamespace(pid=2, usedGpuMemory=45e9),
    ]
    nvml = NVML(nvmlDeviceGetComputeRunningProcesses=lambda handle: processes)
    watched_rows = watch(monkeypatch, nvml)
    assert watched_rows.other_processes(own_bytes=0) == 0.3  # 45 of 150 GB
    processes[1].usedGpuMemory = 60e9
    assert watched_rows.other_processes(own_bytes=0) == 0.4
    printed = capsys.readouterr().err
    assert printed.count("warning") == 1 and "with 30.0% of its memory" in printed
    del processes[1]
    assert watched_rows.other_processes(own_bytes=0) == 0.0
    processes += [SimpleNamespace(pid=3, usedGpuMemory=None)]
    assert (
        watched_rows.other_processes(own_bytes=10) == 1e-6
    )  # present, but NVML does not report its size


@pytest.mark.parametrize(
    ("nvml", "why"),
    [(None, "pip install nvidia-ml-py"), (NVML(nvmlInit=lambda: 1 / 0), "division by zero")],
)
def test_without_nvml_figures_are_unknown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], nvml: Any, why: str
) -> None:
    watched_rows = watch(monkeypatch, nvml)
    assert (
        set(watched_rows.reading().values()) == {None} and watched_rows.other_processes(0) is None
    )
    assert watched_rows.driver is None
    printed = capsys.readouterr().err
    assert printed.count("warning") == 1 and why in printed and "stay unknown" in printed


def test_figures_that_a_gpu_does_not_report_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    watched_rows = watch(monkeypatch, NVML())
    assert (
        set(watched_rows.reading().values()) == {None} and watched_rows.other_processes(0) is None
    )
