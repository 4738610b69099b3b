"""Read the design of a sweep over several axes: from options, or from a TOML file.

sample = 1000                    # of all combinations, drawn with `seed`; without it, all

[scenario]                       # the keys of a scenario's file
network = "bert-base"

[axes]
gpu = ["h100", "h200"]           # or "all"
batch = "1:512"                  # as after --over
whatifs = ["none", "+cuda_graph +precision=fp16"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec

from app.answers.sweeps.axes import axis_name, check_choices, line
from simulator.analysis.design.design import NONE, WHATIFS, Design, at_value, design
from simulator.analysis.sweep import axis
from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, contents
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, Value
from simulator.scenario.text.file import of_table

_MAX_BYTES = 256 * 1024
_ALL = "all"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scenario: dict[str, Any]
    axes: dict[str, str | int | float | bool | list[str | int | float | bool]]
    sample: int | None = None
    seed: int | None = None


def of_options(scenario: Scenario, over: Sequence[str], sample: int | None, seed: int) -> Design:
    """The design of `--over` options: "gpu=h100,h200", "batch=1:512", "whatifs=none;+cuda_graph".

    Raises InputError if one is not an axis of the scenario, or two are the same.
    """
    texts: dict[str, str | None] = {}
    for text in over:
        name, equals, values = text.partition("=")
        name = axis_name(name)
        if name in texts:
            raise InputError(f"--over {name} is given twice: expected an axis once; remove one")
        texts[name] = values.strip() if equals else None
    return _design(scenario, texts, sample, seed)


def read(path: Path) -> Design:
    """The design of a TOML file. Raises InputError if it cannot be read, has unknown keys, or an
    axis does not fit its scenario."""
    raw = contents(path, "a design", _MAX_BYTES, LONGEST_LINE)
    try:
        keys = tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not TOML: {error}; expected lines such as `batch = [1, 8]`; correct the file"
        ) from None
    try:
        file = msgspec.convert(keys, _File)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{path}: {error}: expected [scenario], [axes], and sample and seed; correct it"
        ) from None
    if file.seed is not None and file.sample is None:
        raise InputError(
            f"{path}: seed without sample: expected the number of combinations to draw; add "
            "sample, or remove seed"
        )
    axes = {axis_name(key): values for key, values in file.axes.items()}
    if len(axes) < len(file.axes):
        raise InputError(f"{path}: an axis is given twice: expected each axis once; remove one")
    head = {"format": "ridgepoint-scenario", "version": 1}
    return _design(of_table({**head, **file.scenario}), axes, file.sample, file.seed or 0)


def _design(scenario: Scenario, axes: Mapping[str, Any], sample: int | None, seed: int) -> Design:
    values: dict[str, tuple[Value, ...]] = {}
    for name in sorted(axes, key=lambda name: name != "network"):
        values[name] = _values(scenario, name, axes[name])
        if name == "network":  # the sizes that other axes vary are those of the first network
            scenario = replace(scenario, network=str(values[name][0]))
    return design(scenario, values, sample, seed)


def _values(scenario: Scenario, name: str, listed_values: Any) -> tuple[Value, ...]:
    if listed_values == []:
        raise InputError(f"axis {name!r} has no values: expected at least one; list it")
    if name == WHATIFS:
        return _whatifs(scenario, listed_values)
    if listed_values is None or listed_values == _ALL:
        return line(scenario, name).values
    if isinstance(listed_values, list) and axis(scenario, name).kind == "choice":
        listed = tuple(cast("list[Value]", listed_values))
        if len(set(listed)) < len(listed):
            raise InputError(
                f"axis {name!r}: duplicate value: expected each value once; remove one"
            )
        check_choices(axis(scenario, name), listed)
        return listed
    is_list = isinstance(listed_values, list)
    text = ",".join(map(str, cast("list[Value]", listed_values))) if is_list else listed_values
    return line(scenario, f"{name}={text}").values


def _whatifs(scenario: Scenario, given: Any) -> tuple[str, ...]:
    texts = given if isinstance(given, list) else f"{given or ''}".split(";")  # pyright: ignore[reportUnknownVariableType]
    words = tuple(f"{text}".strip() for text in texts)  # pyright: ignore[reportUnknownVariableType]
    for text in words:
        if text != NONE and not text.startswith("+"):
            raise InputError(
                f"axis {WHATIFS!r}: {text!r}: expected {NONE!r} or what-ifs, such as "
                "'+cuda_graph +precision=fp16'; correct it"
            )
        at_value(scenario, resolve(scenario), WHATIFS, text)
    if len(set(words)) < len(words):
        raise InputError(f"axis {WHATIFS!r}: duplicate value: expected each value once; remove one")
    return words
