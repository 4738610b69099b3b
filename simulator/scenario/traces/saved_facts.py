"""The facts of a saved trace, as `Facts` of a loaded network."""

from __future__ import annotations

from pathlib import Path

from simulator.networks.loading.loaded import Facts
from simulator.records import Trace

_SUFFIXES = (".json", ".msgpack", ".rpt")


def facts_of_file(path: str, trace: Trace) -> Facts:
    """The name of the file, the trace's batch and, if all samples have the same number of tokens,
    its sequence length."""
    name = Path(path).name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    has_tokens = trace.tokens and trace.samples
    seq, rest = divmod(trace.tokens or 0, trace.samples) if has_tokens else (0, 1)
    return Facts(name, trace.samples, seq if rest == 0 else None)
