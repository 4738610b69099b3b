"""Networks of the catalogue on tensors of the meta device, which have no data."""

import pytest
import torch

from simulator.networks.catalogue import CATALOGUE, build, network
from simulator.networks.output import Output
from tests.simulator.networks.test_networks import DATA_DEPENDENT, inputs

ON_META = [name for name in CATALOGUE if name not in DATA_DEPENDENT]


@pytest.mark.layered(5, daily=["deepseek-v3-4", "mobilenet-v2-4", "unet-4"])
@pytest.mark.parametrize("layers", [4, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ON_META)
def test_runs_on_meta(name: str, layers: int | None) -> None:
    """Up to 4 layers (for DeepSeek-V3 three dense ones and one with experts); tests of all layers
    are `slow`."""
    entry = network(name)
    seq = None if entry.seq is None else 32
    is_deep = name.startswith("deepseek-v3") or entry.sizes.get("layers", 0) > 4
    few = layers is not None and is_deep
    with torch.device("meta"):
        module = build(name, layers=layers) if few else build(name)
        if "experts" in entry.sizes:  # torch's rule for grouped products on meta takes bf16 only
            module = module.to(torch.bfloat16)
        logits = module.eval()(*inputs(module, seq))
        assert logits.is_meta and logits.shape[0] == 2
        if entry.trains:
            output = module.train()(*inputs(module, seq, training=True))
            assert isinstance(output, Output)
            assert output.logits.shape == logits.shape and output.loss.shape == ()
            output.loss.backward()
            assert [n for n, p in module.named_parameters() if p.grad is None] == []
