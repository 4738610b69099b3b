"""The catalogue of networks, and errors of its names and sizes."""

import subprocess
import sys

import pytest
import torch

from simulator.errors import InputError
from simulator.networks.catalogue import build, depth, network


def test_catalogue_does_not_import_torch() -> None:
    code = "import sys, simulator.networks.catalogue; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "bert",
            "unknown network 'bert': did you mean 'bert-base' or 'bert-large'? "
            "`ridgepoint networks` lists all",
        ),
        (
            "resnet5O",
            "unknown network 'resnet5O': did you mean 'resnet50' or 'resnet18'? "
            "`ridgepoint networks` lists all",
        ),
        ("zzz", "unknown network 'zzz'; `ridgepoint networks` lists all"),
    ],
)
def test_unknown_network(name: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        network(name)
    assert str(caught.value) == text


def test_unknown_size() -> None:
    with pytest.raises(InputError) as caught:
        build("gpt2", widht=3)
    assert str(caught.value) == (
        "network 'gpt2' has no size 'widht': did you mean 'width'? "
        "its sizes are width, layers, heads, vocab, positions, dropout"
    )


def test_sizes_are_taken() -> None:
    with torch.device("meta"):
        module = build("gpt2", layers=3)
    assert len(module.blocks) == 3  # pyright: ignore


def test_layers_of_different_kinds_have_no_depth() -> None:
    assert depth("llama3-8b", {}) == 32
    assert depth("deepseek-v3", {"layers": 12}) is None  # the first three layers have no experts
