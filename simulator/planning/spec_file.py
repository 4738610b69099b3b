"""Read a plan's TOML file: every key with its unit, its bounds and its error."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, absence, contents
from simulator.formats.link import is_link
from simulator.formats.toml import shown
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host as find_host
from simulator.planning.quantities import Kind, quantity
from simulator.planning.spec import (
    ENGINES,
    PARALLEL,
    PRECISIONS,
    SPLITS,
    Candidates,
    Choices,
    Limits,
    Prices,
    Spec,
    Workload,
)
from simulator.planning.spec_check import check
from simulator.planning.spec_link import keys_of_link
from simulator.planning.spec_values import (
    check_amounts,
    check_keys,
    lengths,
    number,
    one_of,
    section,
    seed,
    words,
)
from simulator.planning.wording import Currency

_SECTIONS = ("workload", "load", "limits", "candidates", "prices", "simulation")
WORKLOAD_KEYS: dict[str, Kind | str] = {
    "kind": "text", "network": "text", "batch": "count", "seq": "count", "prompt": "lengths",
    "batch_window": "time", "output": "lengths", "requests_csv": "text", "prefix_hit": "share",
    "token_budget": "count",
    "max_requests": "count", "memory_share": "share", "admission": "text",
    "batching": "text", "cache_block": "count",
    "host_per_step": "time", "host": "text", "kv_precision": "text", "kv_link": "bandwidth",
    "tokens": "count",
    "expert_parallel": "flag", "attention_dp": "flag",
    "samples": "count", "accumulation": "count", "recompute": "flag", "optimizer": "text",
    "lora_rank": "count", "lora_modules": "names",
    "checkpoint_every": "time", "checkpoint": "time", "failures_every": "time",
    "restart": "time",
}  # fmt: skip
LIMIT_KEYS: dict[str, Kind | str] = {
    "first_token": "time", "per_token": "time", "percentile": "number", "latency": "time",
    "deadline": "time", "cost": "price", "budget": "money",
}  # fmt: skip
PRICE_KEYS: dict[str, Kind | str] = {
    "term": "time", "lifetime": "time", "utilisation": "share", "energy": "power_price",
    "pue": "number", "co2_g_per_kwh": "number", "catalogue": "flag",
}  # fmt: skip
PRICE_TABLES = ("rates", "currency", "hourly", "reserved", "purchase")
_MOST_BYTES = 256 * 1024
_PERCENT = re.compile(r"p?(\d+(?:\.\d+)?)%?")
_POOLS = re.compile(r"([1-9]\d?):([1-9]\d?)")
_SUFFIX: dict[str, str] = {"time": "_s", "bandwidth": "_bytes_per_s"}
_RENAMED = {"cost": "cost_usd_per_h", "budget": "budget_usd", "energy": "energy_usd_per_kwh"}
_TRIED = ("counts", "engines", "precisions", "splits")
LOAD_KEYS, SIMULATION_KEYS = ("rate",), ("requests", "seed")
CANDIDATE_KEYS = ("gpus", *_TRIED, "disaggregated", "parallel", "network", "per_gpu")
_WHOLE = (
    "batch", "seq", "token_budget", "max_requests", "cache_block", "accumulation", "lora_rank",
)  # fmt: skip
_MOST = {"token_budget": 1 << 20, "max_requests": 1 << 16, "cache_block": 1 << 12}
"""The bounds of counts; a step is predicted for each count."""


def read(source: Path | str | Mapping[str, Any]) -> Spec:
    """Read the spec of a TOML file, of a link, or of the mapping that such a file holds.

    Raises InputError if it cannot be read, has unknown keys or units, or contradicts itself.
    """
    if isinstance(source, Mapping):
        return _spec(source, Path())
    if isinstance(source, str) and is_link(source):
        return _spec(keys_of_link(source), Path())
    path = Path(source)
    if not path.exists() and absence(path) == "no such file":  # not links in a circle
        raise InputError(
            f"{path}: No such file or directory: expected a plan's TOML file; check the path"
        )
    try:
        table = tomllib.loads(contents(path, "a plan", _MOST_BYTES, LONGEST_LINE).decode())
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: it is not UTF-8 text: expected a plan's TOML file; check the path"
        ) from None
    except (ValueError, RecursionError) as error:  # not TOML, or nested too deeply
        raise InputError(f"{path}: {error}: expected TOML; correct the line") from None
    return _spec(table, path.parent)


def _spec(table: Mapping[str, Any], folder: Path) -> Spec:
    check_keys("the plan", table, _SECTIONS)
    for name, keys in table.items():
        section(name, keys)
    prices_in: Mapping[str, Any] = table.get("prices", {})
    rates = section("prices.rates", prices_in.get("rates", {}))
    currencies = {"USD": 1.0} | {n: number(f"prices.rates.{n}", v) for n, v in rates.items()}
    load = table.get("load", {})
    check_keys("load", load, LOAD_KEYS)
    more = table.get("simulation", {})
    check_keys("simulation", more, SIMULATION_KEYS)
    spec = Spec(
        workload=_workload(table.get("workload", {}), folder, currencies),
        candidates=_candidates(table.get("candidates", {})),
        limits=Limits(**_read("limits", table.get("limits", {}), LIMIT_KEYS, currencies)),
        prices=_prices(prices_in, currencies),
        rate_per_s=(
            quantity("load.rate", load["rate"], "rate", currencies) if "rate" in load else None
        ),
        requests=int(quantity("simulation.requests", more.get("requests", 4000), "count", {})),
        seed=seed(more.get("seed", 0)),
    )
    check(spec)
    return spec


def _workload(table: Mapping[str, Any], folder: Path, currencies: dict[str, float]) -> Workload:
    values = _read("workload", table, WORKLOAD_KEYS, currencies)
    for needed in ("kind", "network"):
        if needed not in values:
            raise InputError(
                f"workload.{needed} is missing: expected a value; add it under [workload]"
            )
    one_of("workload.kind", values["kind"], ("serving", "inference", "training"))
    one_of("workload.admission", values.get("admission", "preempt"), ("preempt", "reserve"))
    one_of("workload.batching", values.get("batching", "continuous"), ("continuous", "static"))
    one_of("workload.kv_precision", values.get("kv_precision", ""), ("", "bf16", "fp8", "int8"))
    if "requests_csv" in values:
        values["requests_csv"] = folder / values["requests_csv"]
    if (host := values.get("host")) is not None:
        if host.endswith(".json"):
            host = values["host"] = str(folder / host)
        try:
            find_host(host)
        except InputError as error:
            raise InputError(f"workload.host: {error}") from None
    return Workload(**values)


def _candidates(table: Mapping[str, Any]) -> Candidates:
    check_keys("candidates", table, CANDIDATE_KEYS)
    values = _tried("candidates", table)
    if "disaggregated" in table:
        texts = words("candidates.disaggregated", table["disaggregated"])
        values["disaggregated"] = tuple(map(_pools, texts))
    if "parallel" in table:
        values["parallel"] = words("candidates.parallel", table["parallel"])
        for way in values["parallel"]:
            one_of("candidates.parallel", way, PARALLEL)
    if "network" in table:
        network = quantity("candidates.network", table["network"], "bandwidth", {})
        values["network_bytes_per_s"] = network
    values["gpus"] = words("candidates.gpus", table.get("gpus", "all"))
    per_gpu: dict[str, Choices] = {}
    listed = section("candidates.per_gpu", table.get("per_gpu", {}))
    ids = {gpu(name).id for name in values["gpus"]} if values["gpus"] != ("all",) else None
    for name, choices in listed.items():
        where, card = f"candidates.per_gpu.{name}", gpu(name).id
        choices = section(where, choices)
        check_keys(where, choices, (*_TRIED, "use"))
        if ids is not None and card not in ids:
            raise InputError(
                f"{where}: expected a GPU of candidates.gpus; add it there, or remove this section"
            )
        use = choices.get("use", True)
        if not isinstance(use, bool):
            raise InputError(f"{where}.use = {use!r}: expected true or false; write one")
        per_gpu[card] = Choices(**_tried(where, choices), use=use)
    if ids is not None and not any(per_gpu.get(card, Choices()).use for card in ids):
        raise InputError(
            "every GPU has use = false: expected at least one candidate; set use = true for one"
        )
    return Candidates(**values, per_gpu=per_gpu)


def _tried(where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The counts, engines, precisions and splits of a section."""
    values: dict[str, Any] = {}
    for key, names in (("engines", ENGINES), ("precisions", PRECISIONS)):
        if key in table:
            values[key] = words(f"{where}.{key}", table[key])
            for each in values[key]:
                one_of(f"{where}.{key}", each, names)
    if "counts" in table:
        counts = _as_list(table["counts"])
        if not counts or not all(type(c) is int and 0 < c <= 4096 for c in counts):
            raise InputError(
                f"{where}.counts = {counts!r}: expected whole numbers from 1 to "
                "4096, such as [1, 2, 4, 8]; correct them"
            )
        values["counts"] = tuple(sorted(set(counts)))
    if "splits" in table:
        splits = _as_list(table["splits"])
        if not splits or not all(type(s) is int and s in SPLITS for s in splits):
            raise InputError(
                f"{where}.splits = {table['splits']!r}: expected GPUs of one replica, 1, 2, 4 "
                "or 8, which one node links and which divide the 8 heads of keys and values; write "
                "[1, 2, 4, 8]"
            )
        values["splits"] = tuple(sorted(set(splits)))
    return values


def _pools(text: str) -> tuple[int, int]:
    parts = _POOLS.fullmatch(text)
    if parts is None:
        raise InputError(
            f"candidates.disaggregated = {text!r}: expected numbers of prefill and "
            'decode servers, such as "1:3"; write ["1:1", "1:3"]'
        )
    return int(parts[1]), int(parts[2])


def _prices(table: Mapping[str, Any], currencies: dict[str, float]) -> Prices:
    plain = {k: v for k, v in table.items() if k not in PRICE_TABLES}
    values = _read("prices", plain, PRICE_KEYS, currencies, PRICE_TABLES)
    tables: tuple[tuple[str, Kind, str], ...] = (
        ("hourly", "price", "hourly_usd"),
        ("reserved", "price", "reserved_usd"),
        ("purchase", "money", "purchase_usd"),
    )
    for key, kind, into in tables:
        listed = section(f"prices.{key}", table.get(key, {}))
        check_amounts(f"prices.{key}", listed)
        values[into] = {
            gpu(name).id: quantity(f"prices.{key}.{name}", value, kind, currencies)
            for name, value in listed.items()
        }
    others = {name: rate for name, rate in currencies.items() if name != "USD"}
    own = table.get("currency", next(iter(others)) if len(others) == 1 else "USD")
    if not isinstance(own, str) or own not in currencies:
        named = own if isinstance(own, str) and own.isidentifier() else "EUR"
        raise InputError(
            f"prices.currency = {shown(own)}: expected one of {', '.join(sorted(currencies))}; "
            f"give the rate of another one as prices.rates.{named} = USD each"
        )
    values |= {"rates_usd": others, "currency": Currency(own, currencies[own])}
    return Prices(**values)


def _read(
    of: str,
    table: Mapping[str, Any],
    kinds: Mapping[str, Kind | str],
    currencies: dict[str, float],
    more: tuple[str, ...] = (),
) -> dict[str, Any]:
    check_keys(of, table, (*kinds, *more))
    values: dict[str, Any] = {}
    for name, value in table.items():
        where, kind = f"{of}.{name}", kinds[name]
        into = _RENAMED.get(name, name + _SUFFIX.get(kind, ""))
        if kind == "text":
            if not isinstance(value, str):
                raise InputError(f"{where} = {shown(value)}: expected text; write it in quotes")
            values[into] = value
        elif kind == "flag":
            if not isinstance(value, bool):
                raise InputError(f"{where} = {shown(value)}: expected true or false; write one")
            values[into] = value
        elif kind == "number":
            if name == "percentile" and isinstance(value, str) and (p := _PERCENT.fullmatch(value)):
                value = float(p[1])
            values[into] = number(where, value)
        elif kind == "names":
            values[into] = words(where, value)
        elif kind == "lengths":
            values[into] = lengths(where, value)
        else:
            amount = quantity(where, value, cast("Kind", kind), currencies)
            most = _MOST.get(name, amount)
            if name in _WHOLE and (amount < 1 or amount != int(amount) or amount > most):
                limit = f" to {_MOST[name]:,}" if name in _MOST else ""
                raise InputError(
                    f"{where} = {shown(value)}: expected a whole number from 1{limit}; correct it"
                )
            values[into] = int(amount) if name in _WHOLE else amount
    return values


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]
