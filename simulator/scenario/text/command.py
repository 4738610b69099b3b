"""A scenario as a command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any, cast

from simulator.errors import InputError
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.whatif import to_full_text


def as_command(scenario: Scenario, command: str = "predict") -> str:
    """Write a scenario as `ridgepoint predict bert-base --batch 64 …`.

    Raises InputError if options cannot express it.
    """
    if isinstance(scenario.gpu, Mapping):
        raise InputError(
            "the GPU has edited figures: expected a name or a file for a command; "
            "save the session instead"
        )
    words = ["ridgepoint", command, scenario.network]
    usual = Scenario(scenario.network)
    for name in ("gpu", "host", "batch", "seq", "dtype", "optimizer", "mode"):
        value = getattr(scenario, name)
        if value is not None and value != getattr(usual, name):
            words += [f"--{name}", str(value)]
    if scenario.training is not None:
        words.append("--train" if scenario.training else "--no-train")
    words += [w for k, v in scenario.sizes.items() for w in ("--size", f"{k}={_word(v)}")]
    words += [w for k, v in scenario.data_sizes.items() for w in ("--data-size", f"{k}={v}")]
    if scenario.host_speed != 1.0:
        words.append(f"+host_speed={scenario.host_speed:g}")
    return shlex.join(words + [to_full_text(applied) for applied in scenario.whatifs])


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return (
        ",".join(map(str, cast("Iterable[object]", value)))
        if isinstance(value, tuple | list)
        else str(value)
    )
