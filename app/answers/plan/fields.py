"""A plan's workload as a sentence: words, and fields that edit its draft."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

from app.answers import sentence as sentence_parts
from app.answers.plan.draft import Draft
from app.quantities import plain
from simulator.formats.numbers import short
from simulator.networks.catalogue import CATALOGUE
from simulator.planning.spec import PRECISIONS, WorkloadKind

KINDS: dict[str, WorkloadKind] = {"Serve": "serving", "Run": "inference", "Train": "training"}
_NUMBER = re.compile(r"\d[\d,_]*(\.\d+)?")
_UNIFORM = re.compile(r"(.+?)\s+to\s+(.+)")
_LOGNORMAL = re.compile(r"(.+?),?\s+sigma\s+(.+)")
_BUILDING_POWER = "PUE: the building's power divided by the computers' power"


Field = sentence_parts.Field[Draft]
Part = sentence_parts.Part[Draft]


def sentence(draft: Draft) -> tuple[Part, ...]:
    """The workload, its load and its limits."""
    kind: WorkloadKind = draft.table["workload"]["kind"]
    return {"serving": _serving, "inference": _inference, "training": _training}[kind](draft)


def prices(draft: Draft) -> tuple[Part, ...]:
    """The price of power, PUE and emissions, as a sentence."""
    power = key_field(draft, "Power price", "prices", "energy", unit=" USD/kWh", empty="0")
    own_unit = bool(power.shown) and not _is_number(power.shown)  # such as "0.20 EUR/kWh"
    return (
        "Power at",
        power,
        f"{'' if own_unit else 'USD/kWh'}; the building takes".lstrip(),
        key_field(draft, _BUILDING_POWER, "prices", "pue", empty="1"),
        "times the power of its computers; each kWh emits",
        key_field(draft, "Grams of CO₂ per kWh", "prices", "co2_g_per_kwh", empty="unknown"),
        "g of CO₂.",
    )


def _serving(draft: Draft) -> tuple[Part, ...]:
    trace = draft.get("workload", "requests_csv")
    parts: list[Part] = [_kind("Serve"), _network(draft, "-decode"), "in", _precisions(draft)]
    if trace is None:
        lengths = 'tokens: a number, "768 to 1,280", or "1,024, sigma 0.5" of a lognormal'
        parts += [
            "to",
            _rate(draft, "Requests a second"),
            "requests a second, prompts of",
            key_field(draft, "Tokens of a prompt", "workload", "prompt", tip=lengths),
            "tokens, answers of",
            key_field(draft, "Tokens of an answer", "workload", "output", tip=lengths),
        ]
    else:
        put = partial(_put_trace)
        parts += [
            "for the requests of",
            Field("File of requests", Path(trace).name, put, trace, key="workload.requests_csv"),
        ]
    percent = key_field(draft, "Percentile", "limits", "percentile", unit="%", empty="99%")
    return (
        *parts,
        ",",
        percent,
        "of tokens within",
        key_field(
            draft,
            "Time limit per token",
            "limits",
            "per_token",
            unit=" ms",
            empty="any time",
        ),
        ", first tokens within",
        key_field(
            draft,
            "Time limit of the first token",
            "limits",
            "first_token",
            unit=" ms",
            empty="any time",
        ),
        ", answers within",
        _time_limit(draft, "Time limit of an answer", "latency", " s"),
        *_cost(draft),
    )


def _inference(draft: Draft) -> tuple[Part, ...]:
    return (
        _kind("Run"),
        _network(draft),
        "in",
        _precisions(draft),
        "on",
        _rate(draft, "Samples a second", empty="the most"),
        *_batches(draft),
        *_cost(draft),
    )


def _batches(draft: Draft) -> tuple[Part, ...]:
    """The batches of a service. Without a rate they are always full; with a rate they hold the
    samples that wait.
    """
    if draft.spec.rate_per_s is None:
        return (
            "samples a second, in batches of",
            key_field(draft, "Batch", "workload", "batch", empty="the best size"),
            ", each batch within",
            _time_limit(draft, "Time limit of a batch", "latency", " ms"),
        )
    return (
        "samples a second, in batches of at most",
        key_field(draft, "Largest batch", "workload", "batch", empty="the best size"),
        "that gather for at most",
        key_field(
            draft,
            "Longest wait for a full batch",
            "workload",
            "batch_window",
            unit=" ms",
            empty="no time",
        ),
        ",",
        key_field(draft, "Percentile", "limits", "percentile", unit="%", empty="99%"),
        "of samples within",
        _time_limit(draft, "Time limit of a sample", "latency", " ms"),
    )


def _time_limit(draft: Draft, name: str, key: str, unit: str) -> Field:
    return key_field(draft, name, "limits", key, unit=unit, empty="any time")


def _cost(draft: Draft) -> tuple[Part, ...]:
    limit = key_field(draft, "Cost limit", "limits", "cost", unit=" USD/h", empty="any amount")
    return ", costing at most", limit, "."


def _training(draft: Draft) -> tuple[Part, ...]:
    unit = "tokens" if draft.get("workload", "tokens") is not None else "samples"
    units = Field("Unit of the amount", unit, _put_unit, options=("samples", "tokens"))
    return (
        _kind("Train"),
        _network(draft),
        "in",
        _precisions(draft),
        "on",
        key_field(draft, "Amount to train on", "workload", unit, tip='such as "115M" or "20B"'),
        units,
        "in batches of",
        key_field(draft, "Batch of one GPU", "workload", "batch", empty="the best size"),
        "a GPU, within",
        key_field(draft, "Deadline", "limits", "deadline", unit=" days", empty="any time"),
        ", costing at most",
        key_field(draft, "Budget", "limits", "budget", unit=" USD", empty="any amount"),
        ".",
    )


def _kind(word: str) -> Field:
    def put(draft: Draft, text: str) -> Draft:
        return draft.of_kind(KINDS[text])

    return Field("Kind of workload", word, put, options=tuple(KINDS), key="workload.kind")


def _network(draft: Draft, ending: str = "") -> Field:
    names = [name for name in CATALOGUE if name.endswith(ending)]
    own = draft.get("workload", "network")
    options = dict.fromkeys([own, *sorted(n.removesuffix(ending) for n in names)])
    return Field(
        "Network",
        own,
        partial(_put_text, ("workload", "network")),
        options=(*options,),
        key="workload.network",
    )


def _precisions(draft: Draft) -> Field:
    chosen = ", ".join(draft.get("candidates", "precisions") or ["bf16"])

    def put(draft: Draft, text: str) -> Draft:
        return draft.put(text.split(", ") if text else [], "candidates", "precisions")

    return Field(
        "Precisions", chosen, put, options=PRECISIONS, several=True, key="candidates.precisions"
    )


def _rate(draft: Draft, name: str, empty: str = "") -> Field:
    per_s = draft.spec.rate_per_s

    def put(draft: Draft, text: str) -> Draft:
        return draft.put((f"{text}/s" if _is_number(text) else text) or None, "load", "rate")

    shown = short(per_s, 4) if per_s is not None else ""
    return Field(
        name, shown, put, 'such as 20, "1200/min" or "3000/h"', empty=empty, key="load.rate"
    )


def key_field(
    draft: Draft, name: str, section: str, key: str, unit: str = "", tip: str = "", empty: str = ""
) -> Field:
    """The field of one key. A number without a unit is in `unit`; the field hides the unit where
    the words around it name it (a percentage and USD/kWh)."""
    value = draft.get(section, key)
    shown = "" if value is None else _shown(value)
    if unit == "%" and shown:
        shown = f"{shown.removeprefix('p').removesuffix('%')}%"
    if unit == " USD/kWh":
        shown = shown.removesuffix(unit)
    if unit and not tip:
        tip = f"a number is in{unit}" if unit != "%" else "such as 99%"
    return Field(
        name, shown, partial(_put, section, key, unit), tip, empty=empty, key=f"{section}.{key}"
    )


def _put(section: str, key: str, unit: str, draft: Draft, text: str) -> Draft:
    if _is_number(text) and unit not in ("", "%"):
        return draft.put(f"{text}{unit}", section, key)
    return draft.put(_value(text.removesuffix("%") if unit == "%" else text), section, key)


def _put_text(path: tuple[str, ...], draft: Draft, text: str) -> Draft:
    return draft.put(text or None, *path)


def _put_trace(draft: Draft, text: str) -> Draft:
    own = Path(draft.table["workload"]["requests_csv"])
    if text == own.name:
        return draft
    return draft.of_trace(own.parent / text) if text else draft.without_trace()


def _put_unit(draft: Draft, text: str) -> Draft:
    other = "samples" if text == "tokens" else "tokens"
    amount = draft.get("workload", other)
    if amount is None:
        return draft
    return draft.put(None, "workload", other).put(amount, "workload", text)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        each = {name: _shown(v) for name, v in cast("Mapping[str, Any]", value).items()}
        if set(each) == {"low", "high"}:
            return f"{each['low']} to {each['high']}"
        return f"{each.get('mean', '')}, sigma {each.get('sigma', '')}"
    return plain(value) if isinstance(value, int | float) else str(value)


def _value(text: str) -> Any:
    """The spec's value for a field's text: a number if possible, a mapping for a distribution of
    lengths, else the text."""
    if not text:
        return None
    if match := _LOGNORMAL.fullmatch(text):
        return {"mean": _value(match[1]), "sigma": _value(match[2])}
    if match := _UNIFORM.fullmatch(text):
        return {"low": _value(match[1]), "high": _value(match[2])}
    if not _is_number(text):
        return text
    number = float(text.replace(",", "").replace("_", ""))
    return int(number) if number.is_integer() else number


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
