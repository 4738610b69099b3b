"""Load a network by name: a catalogue entry, a user's file, or a configuration.

    load("bert-base", batch=16, seq=128)
    load("nets.py:make", sizes={"width": 512})
    load("hf:folder/config.json")
    load("timm:resnet50")

Nothing is downloaded and no weights are read: modules and inputs are on `meta`. Torch is imported
when the first network is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.errors import InputError
from simulator.networks.catalogue import build, network
from simulator.networks.loading.extras import from_timm, from_transformers
from simulator.networks.loading.loaded import Facts, Loaded, Wanted, blaming, check_positions
from simulator.networks.loading.user_file import from_file

DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_LARGEST = 2**31 - 1
"""Largest batch or sequence length: the range of a 32-bit index."""


def load(
    spec: str,
    *,
    batch: int | None = None,
    seq: int | None = None,
    dtype: str = "fp32",
    training: bool = False,
    sizes: Mapping[str, Any] | None = None,
) -> Loaded:
    """Load the network `spec` in `dtype` ("fp32", "bf16", "fp16") with its inputs.

    `sizes` are keyword arguments of its constructor. Raises InputError if the network, its batch,
    sequence length or sizes are invalid.
    """
    for name, value in (("batch", batch), ("seq", seq)):
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}: expected 1 or more")
        if value is not None and value > _LARGEST:
            raise InputError(f"{name} is {value}: expected {_LARGEST} at most")
    if dtype not in DTYPES:
        raise InputError(f"unknown dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    wanted = Wanted(spec, batch, seq, training, dict(sizes or {}))
    kinds = {"hf": from_transformers, "timm": from_timm}
    kind = "file" if spec.endswith(".py") or ".py:" in spec else spec.partition(":")[0]
    reader = from_file if kind == "file" else kinds.get(kind, _catalogue)
    if reader is _catalogue:
        network(spec)  # report a mistyped name before torch is imported
    import torch  # only when a network is loaded: it takes seconds

    from simulator.networks.known_values import Remembering

    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, DTYPES[dtype]))
    try:
        with torch.device("meta"), Remembering():
            return reader(wanted)
    finally:
        torch.set_default_dtype(before)


def _catalogue(wanted: Wanted) -> Loaded:
    entry = network(wanted.spec)
    what = f"network {entry.name!r}"
    if wanted.seq is not None and entry.seq is None:
        raise InputError(f"{what} has no sequence: leave seq out")
    if wanted.training and not entry.trains:
        raise InputError(f"{what} has no training step: predict inference instead")
    batch, seq = wanted.batch or entry.batch, wanted.seq or entry.seq
    with blaming(what, "correct its sizes"):
        module: Any = build(entry.name, **wanted.sizes)
        # A lookup past the end of a table fails on a GPU, but not on `meta`.
        rows = getattr(getattr(module, "positions", None), "num_embeddings", None)
        check_positions(what, seq, rows, f"give the size positions={seq}")
        args = module.example_inputs(batch, seq, wanted.training)
    return Loaded(module, args, {}, Facts(entry.name, batch, seq))
