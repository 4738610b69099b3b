"""Settings of the process that change products: TF32, and the workspace of cuBLAS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from simulator import predict_trace
from simulator.formats.trace_file import load, save
from simulator.hardware.host import host
from simulator.scenario.scenario import Scenario, predict
from simulator.tracing import trace
from simulator.tracing.product_settings import ProductSettings, current, settings_of

VARIABLE = "CUBLAS_WORKSPACE_CONFIG"
STOCK = ProductSettings("highest", None)


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


def names(gpu: str = "h200") -> list[str]:
    traced = trace(Products(), (torch.zeros(512, 512),), gpu=gpu)
    return [op.name for op in traced.ops if op.name.split(".")[1] in ("addmm", "mm")]


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_float32_products_run_in_tf32_if_the_process_allows_it(precision: str) -> None:
    assert names() == ["aten.addmm.default", "aten.mm.default", "aten.mm.default"]
    torch.set_float32_matmul_precision(precision)
    assert names() == ["tf32.addmm.default", "tf32.mm.default", "aten.mm.default"]
    # Volta has no TF32
    assert names("v100_sxm2_32") == ["aten.addmm.default", "aten.mm.default", "aten.mm.default"]


NETWORK = """
import os, torch
from torch import nn
{setting}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(4096, 4096, bias=False) for _ in range(4)))
    def forward(self, x):
        return self.layers(x)
    def example_inputs(self, batch, seq, training=False):
        return (torch.zeros(4096, 4096),)
"""


def network(folder: Path, name: str, setting: str) -> str:
    path = folder / f"{name}.py"
    path.write_text(NETWORK.format(setting=setting))
    return f"{path}:Net"


def test_a_network_that_sets_tf32_is_faster_and_leaves_the_process_as_it_was(
    tmp_path: Path,
) -> None:
    stock = network(tmp_path, "stock", "")
    fast = network(tmp_path, "fast", 'torch.set_float32_matmul_precision("high")')
    slow_s, fast_s, again_s = (predict(Scenario(net)).period_s for net in (stock, fast, stock))
    # 2 · 4096³ FLOPs: 67 TFLOP/s on vector lanes, 494 on tensor cores in TF32
    assert 4 < slow_s / fast_s < 9
    assert again_s == slow_s
    assert current() == STOCK
    torch.set_float32_matmul_precision("high")  # a named network does not depend on the process
    other = network(tmp_path, "other", "wide = 4096")
    assert predict(Scenario(other)).period_s == pytest.approx(slow_s, rel=1e-3)
    assert current().precision == "high"


def test_settings_of_a_network_are_known_after_its_package_was_imported() -> None:
    with settings_of("some network"):
        assert current() == STOCK
        os.environ[VARIABLE] = ":4096:8"  # at the first import
        torch.set_float32_matmul_precision("medium")
    assert current() == STOCK
    with settings_of("some network"):
        assert current() == ProductSettings("medium", ":4096:8")
    with settings_of("another network"):
        assert current() == STOCK


def test_an_error_leaves_the_process_as_it_was() -> None:
    with pytest.raises(KeyError), settings_of("a network that fails"):
        os.environ[VARIABLE] = ":16:8"
        raise KeyError
    assert current() == STOCK


def test_a_configured_workspace_lengthens_each_product_on_the_host(tmp_path: Path) -> None:
    """A product takes 53 µs longer on the default host, and one with a bias 150 µs."""
    x = torch.zeros(512, 512)
    plain = trace(Products(), (x,))
    os.environ[VARIABLE] = ":4096:8"
    configured = trace(Products(), (x,))
    assert (plain.workspace_configured, configured.workspace_configured) == (False, True)
    by_mode = {
        mode: predict_trace(configured, mode=mode).period_s
        - predict_trace(plain, mode=mode).period_s
        for mode in ("eager", "compiled")
    }
    assert by_mode == pytest.approx({"eager": 256e-6, "compiled": 256e-6}, rel=0.02)
    twice = host().slower(2.0)
    slower_s = predict_trace(configured, host=twice).period_s
    assert slower_s - predict_trace(plain, host=twice).period_s == pytest.approx(512e-6, rel=0.02)
    path = tmp_path / "step.trace"
    save(configured, path)
    assert load(path).workspace_configured
    assert np.isclose(predict_trace(load(path)).period_s, predict_trace(configured).period_s)
