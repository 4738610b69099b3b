"""Networks from names, files and configurations; every error text is compared literally."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from simulator import InputError, trace
from simulator.networks.loading.load import load
from simulator.networks.loading.loaded import Facts
from tests.simulator.networks.conftest import refused

GOOD = """
import torch
from torch import nn
from beside import WIDTH

class Net(nn.Module):
    def __init__(self, width=WIDTH, bias=True):
        super().__init__()
        self.layer = nn.Linear(width, width, bias)
    def forward(self, x):
        return self.layer(x)
    def example_inputs(self, batch, seq, training=False):
        return (torch.randn(batch, seq, self.layer.in_features),)

class Bare(nn.Module):
    def forward(self, x):
        return x * 2

class Pictures(Bare):
    def example_inputs(self, batch):
        return {"x": torch.randn(batch, 3, 8, 8)}

def pair():
    return Bare(), (torch.randn(4, 4),)

def triple():
    return Bare(), (), {"x": torch.randn(4, 4)}

def needy(width):
    return Net(width)

def wrong():
    return {"a": 1}

def wrong_pair():
    return 1, 2

def breaks():
    raise ValueError("too deep")

NUMBER = 3
"""
LINE = GOOD.splitlines().index('    raise ValueError("too deep")') + 1


@pytest.fixture
def nets(tmp_path: Path) -> str:
    (tmp_path / "beside.py").write_text("WIDTH = 16\n")
    (tmp_path / "nets.py").write_text(GOOD)
    yield str(tmp_path / "nets.py")
    sys.modules.pop("beside", None)


def test_a_catalogue_entry_has_its_defaults() -> None:
    module, args, kwargs, facts = load("bert-base", dtype="bf16")
    assert facts == Facts("bert-base", 16, 128)
    assert [tuple(t.shape) for t in args] == [(16, 128)] and kwargs == {}
    assert {(p.device.type, p.dtype) for p in module.parameters()} == {("meta", torch.bfloat16)}
    assert torch.get_default_dtype() == torch.float32


def test_batch_seq_training_and_sizes_are_taken() -> None:
    module, args, _, facts = load(
        "gpt2", batch=2, seq=64, training=True, sizes={"layers": 2, "width": 64, "heads": 2}
    )
    assert facts == Facts("gpt2", 2, 64)
    assert [tuple(t.shape) for t in args] == [(2, 64), (2, 64)]  # ids and labels
    assert len(module.blocks) == 2


@pytest.mark.parametrize(
    ("spec", "options", "text"),
    [
        ("bert", {}, "unknown network 'bert': did you mean 'bert-base' or 'bert-large'? "
         "`ridgepoint networks` lists all"),
        ("bert-base", {"batch": 0}, "batch is 0: expected 1 or more"),
        ("bert-base", {"batch": -2}, "batch is -2: expected 1 or more"),
        ("bert-base", {"seq": 0}, "seq is 0: expected 1 or more"),
        ("bert-base", {"dtype": "fp7"}, "unknown dtype 'fp7': expected one of fp32, bf16, fp16"),
        ("resnet50", {"seq": 5}, "network 'resnet50' has no sequence: leave seq out"),
        ("chain", {"training": True},
         "network 'chain' has no training step: predict inference instead"),
        ("bert-base", {"seq": 600}, "network 'bert-base' has 512 positions: expected seq 512 at "
         "most, got 600; or give the size positions=600"),
        ("gpt2", {"seq": 2000}, "network 'gpt2' has 1024 positions: expected seq 1024 at most, "
         "got 2000; or give the size positions=2000"),
        ("mlp-tiny", {"sizes": {"widt": 3}}, "network 'mlp-tiny' has no size 'widt': did you mean "
         "'width'? its sizes are width, depth, classes"),
        ("nowhere/nets.py:make", {},
         "no such file 'nowhere/nets.py': expected FILE.py:FACTORY; check the path"),
        ("hf:nowhere", {},
         "no such file 'nowhere': expected hf:FOLDER with a config.json, or hf:FILE"),
    ],
)  # fmt: skip
def test_networks_that_cannot_be_loaded_are_refused(
    spec: str, options: dict[str, Any], text: str
) -> None:
    assert refused(spec, **options) == text


def test_more_positions_can_be_given() -> None:
    assert load("bert-base", seq=600, sizes={"positions": 600}).facts.seq == 600


def test_a_size_that_the_constructor_refuses() -> None:
    text = refused("mlp-tiny", sizes={"width": "x"})
    assert text.startswith("network 'mlp-tiny' raised TypeError: ")
    assert text.endswith("; correct its sizes")


def test_a_file_with_inputs_from_its_method(nets: str) -> None:
    module, args, _, facts = load(f"{nets}:Net", batch=3, seq=5, dtype="fp16")
    assert facts == Facts("nets.py:Net", 3, 5)
    assert tuple(args[0].shape) == (3, 5, 16) and args[0].dtype == torch.float16
    assert args[0].device.type == "meta"
    assert len(trace(module, args).ops) > 0


def test_sizes_go_to_the_factory(nets: str) -> None:
    module = load(f"{nets}:Net", sizes={"width": 8, "bias": False}).module
    assert module.layer.weight.shape == (8, 8) and module.layer.bias is None
    assert load(f"{nets}:needy", sizes={"width": 8}).module.layer.in_features == 8


def test_inputs_get_the_arguments_of_their_method(nets: str) -> None:
    loaded = load(f"{nets}:Pictures", batch=2)
    assert loaded.args == () and tuple(loaded.kwargs["x"].shape) == (2, 3, 8, 8)
    assert loaded.facts == Facts("nets.py:Pictures", 2, None)
    assert refused(f"{nets}:Pictures", seq=5) == (
        "example_inputs of nets.py:Pictures takes no seq: leave seq out"
    )


def test_a_factory_may_bring_inputs(nets: str) -> None:
    assert tuple(load(f"{nets}:pair").args[0].shape) == (4, 4)
    assert list(load(f"{nets}:triple").kwargs) == ["x"]
    assert refused(f"{nets}:pair", batch=2) == (
        "nets.py:pair returns its own inputs: leave batch and seq out, or let a function "
        "example_inputs(module, batch, seq) of the file make them"
    )


def test_inputs_from_a_function_in_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import torch\nfrom torch import nn\ndef make():\n    return nn.Linear(4, 4)\n"
        "def example_inputs(net, batch, seq):\n    return torch.randn(batch, net.in_features)\n"
    )
    assert tuple(load(f"{tmp_path / 'own.py'}:make", batch=7).args[0].shape) == (7, 4)


def test_a_function_for_inputs_needs_the_module(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from torch import nn\ndef make():\n    return nn.Linear(4, 4)\n"
        "def example_inputs(batch, seq):\n    return ()\n"
    )
    assert refused(f"{tmp_path / 'own.py'}:make") == (
        "example_inputs of own.py takes no module: expected example_inputs(module, batch, seq); "
        "add module, or make the function a method of the network"
    )


THERE = "Net, Bare, Pictures, pair, triple, needy, wrong, wrong_pair, breaks"
MAKES = "expected FILE.py:FACTORY, a function or class that makes an nn.Module; the file defines: "


@pytest.mark.parametrize(
    ("factory", "text"),
    [
        (":nope", f"nets.py has no 'nope': {MAKES}{THERE}"),
        ("", f"nets.py names no network: {MAKES}{THERE}"),
        (":NUMBER", f"nets.py:NUMBER is of type int: {MAKES}{THERE}"),
        (":breaks", f"nets.py:breaks raised ValueError on line {LINE}: too deep; "
         "correct the file"),
        (":wrong", "nets.py:wrong returned a value of type dict: expected an nn.Module, "
         "(module, args) or (module, args, kwargs)"),
        (":wrong_pair", "nets.py:wrong_pair returned (int, int): expected an nn.Module, "
         "(module, args) or (module, args, kwargs)"),
        (":needy", "nets.py:needy(width) cannot be called: missing a required argument: 'width'; "
         "expected a factory without required arguments, or a size for each"),
        (":Bare", "nets.py:Bare has no inputs: give the module a method example_inputs(batch, "
         "seq, training=False), or the file a function example_inputs(module, batch, seq), or "
         "return (module, args)"),
    ],
)  # fmt: skip
def test_errors_of_a_file(nets: str, factory: str, text: str) -> None:
    assert refused(nets + factory) == text


def test_a_size_that_the_factory_lacks(nets: str) -> None:
    assert refused(f"{nets}:Net", sizes={"depth": 2}) == (
        "nets.py:Net(width=16, bias=True) has no argument 'depth': "
        "expected width, bias; correct the name"
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("x = 1\ny = z\n", "raised NameError on line 2: name 'z' is not defined"),
        ("x = 1\n\ndef f(:\n", "raised SyntaxError on line 3: invalid syntax"),
        ("import sys\nsys.exit('bye')\n", "raised SystemExit on line 2: bye"),
        ("import sys\nsys.exit()\n", "raised SystemExit on line 2"),
        ("import not_there\n", "raised ModuleNotFoundError on line 1: No module named 'not_there'"),
    ],
)
def test_a_file_that_cannot_be_imported(tmp_path: Path, code: str, text: str) -> None:
    (tmp_path / "bad.py").write_text(code)
    before = list(sys.path)
    assert refused(f"{tmp_path / 'bad.py'}:make") == f"bad.py {text}; correct the file"
    assert sys.path == before and torch.get_default_dtype() == torch.float32


def test_inputs_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "import torch\nfrom torch import nn\n"
        "def make():\n    return nn.Linear(4, 4), (torch.randn(2, 5),)\n"
    )
    module, args, kwargs, _ = load(f"{tmp_path / 'odd.py'}:make")
    with pytest.raises(
        InputError, match=r"^Linear\.forward failed on inputs \(float32\[2, 5\]\): "
    ):
        trace(module, args, kwargs)


def test_defaults_of_the_files_own_inputs_hold(tmp_path: Path) -> None:
    place = tmp_path / "nets.py"
    place.write_text(
        "import torch\n"
        "class Net(torch.nn.Linear):\n"
        "    def __init__(self):\n"
        "        super().__init__(4, 4)\n"
        "    def example_inputs(self, batch=4, seq=7):\n"
        "        return torch.empty(batch, seq, 4)\n",
        "utf-8",
    )
    for options, shape in (({}, (4, 7, 4)), ({"batch": 2}, (2, 7, 4)), ({"seq": 3}, (4, 3, 4))):
        loaded = load(f"{place}:Net", **options)
        assert loaded.args[0].shape == shape
        assert (loaded.facts.batch, loaded.facts.seq) == shape[:2]
