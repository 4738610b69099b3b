"""Settings of the process that change products: TF32, and the workspace of cuBLAS."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from simulator import predict_trace
from simulator.errors import InputError
from simulator.formats.trace_file import load, save
from simulator.hardware.host import host
from simulator.networks.product_settings import STOCK, current
from simulator.scenario.scenario import Scenario, predict
from simulator.tracing import trace

VARIABLE = "CUBLAS_WORKSPACE_CONFIG"
ALLOW = 'torch.set_float32_matmul_precision("high")'


@pytest.fixture(autouse=True)
def stock() -> Iterator[None]:
    """Stock settings before and after each test."""
    STOCK.apply()
    yield
    STOCK.apply()


class Products(nn.Module):
    """Two products of float32 numbers, the first with a bias, and one of half-precision numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(512, 512), nn.Linear(512, 512, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        half = x.half()
        return self.second(self.first(x)) + half @ half.t()


def in_tf32(gpu: str = "h200") -> list[bool]:
    traced = trace(Products(), (torch.zeros(512, 512),), gpu=gpu)
    products = [op for op in traced.ops if op.name in ("aten.addmm.default", "aten.mm.default")]
    return [op.signature.arg("tf32", False) for op in products]


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_float32_products_run_in_tf32_if_the_process_allows_it(precision: str) -> None:
    assert in_tf32() == [False, False, False]
    torch.set_float32_matmul_precision(precision)
    assert in_tf32() == [True, True, False]
    assert in_tf32("v100_sxm2_32") == [False, False, False]  # Volta has no TF32


def test_a_product_follows_the_setting_at_its_call() -> None:
    class Half(Products):
        def forward(self, x: Tensor) -> Tensor:
            torch.set_float32_matmul_precision("high")
            y = self.first(x)
            torch.set_float32_matmul_precision("highest")
            return self.second(y)

    traced = trace(Half(), (torch.zeros(512, 512),))
    marked = {op.name: op.signature.arg("tf32", False) for op in traced.ops if "mm" in op.name}
    assert marked == {"aten.addmm.default": True, "aten.mm.default": False}


NETWORK = """
import torch
from torch import nn
{setting}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(4096, 4096, bias={bias}) for _ in range(4)))
    def forward(self, x):
        {first}
        return self.layers(x)
    def example_inputs(self, batch, seq, training=False):
        return (torch.zeros(4096, 4096),)
"""


def network(
    folder: Path, name: str, setting: str = "", first: str = "pass", bias: bool = False
) -> str:
    path = folder / f"{name}.py"
    path.write_text(NETWORK.format(setting=setting, first=first, bias=bias))
    return f"{path}:Net"


def period_s(network: str, mode: str = "eager") -> float:
    return predict(Scenario(network, mode=mode)).period_s


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that allows TF32 when it is imported."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "allows_tf32_at_import.py").write_text(f"import torch\n{ALLOW}\n")
    monkeypatch.syspath_prepend(str(folder))
    yield "import allows_tf32_at_import"
    sys.modules.pop("allows_tf32_at_import", None)


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("bias", [False, True])
def test_a_network_that_allows_tf32_is_faster_and_changes_no_other(
    tmp_path: Path, mode: str, bias: bool
) -> None:
    stock = network(tmp_path, "stock", bias=bias)
    fast = network(tmp_path, "fast", ALLOW, bias=bias)
    slow_s, fast_s, again_s = (period_s(each, mode) for each in (stock, fast, stock))
    # 2 · 4096³ FLOPs take 2.5 ms at 54 TFLOP/s and 0.36 ms at 380 TFLOP/s
    assert slow_s / fast_s == pytest.approx(6.9, rel=0.15)
    assert again_s == slow_s
    assert current() == STOCK
    torch.set_float32_matmul_precision("high")  # a named network does not depend on the process
    assert period_s(network(tmp_path, "other", bias=bias), mode) == pytest.approx(slow_s, rel=1e-3)
    assert current().precision == "high"


def test_an_edited_file_is_predicted_as_it_is(tmp_path: Path) -> None:
    fast_s = period_s(network(tmp_path, "edited", ALLOW))
    slow_s = period_s(network(tmp_path, "edited"))
    assert slow_s > 5 * fast_s
    assert period_s(network(tmp_path, "edited", ALLOW)) == fast_s


def test_a_package_sets_them_for_the_first_network_that_imports_it(
    tmp_path: Path, package: str
) -> None:
    first = period_s(network(tmp_path, "first", package))
    assert current() == STOCK
    assert period_s(network(tmp_path, "other")) > 5 * first


def test_an_error_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ValueError: too wide"):
        period_s(network(tmp_path, "fails", ALLOW, 'raise ValueError("too wide")'))
    assert current() == STOCK


def test_a_configured_workspace_lengthens_each_product_on_the_host(tmp_path: Path) -> None:
    """A product takes 53 µs longer on the default host, and one with a bias 150 µs."""
    x = torch.zeros(512, 512)
    plain = trace(Products(), (x,))
    os.environ[VARIABLE] = ":4096:8"
    configured = trace(Products(), (x,))
    assert (plain.workspace_configured, configured.workspace_configured) == (False, True)

    def longer_s(mode: str, speed: float = 1.0) -> float:
        slower = host().slower(speed)
        steps = (predict_trace(each, mode=mode, host=slower) for each in (configured, plain))
        one, other = (step.period_s for step in steps)
        return one - other

    assert longer_s("eager") == pytest.approx(256e-6, rel=0.02)
    assert longer_s("eager", 2.0) == pytest.approx(512e-6, rel=0.02)
    assert longer_s("compiled") == pytest.approx(256e-6, rel=0.02)
    assert longer_s("cuda_graph") == 0
    path = tmp_path / "step.trace"
    save(configured, path)
    assert load(path) == configured
