"""The TOML file of a lesson: data alone, versioned and validated, a few lines long.

Its scenarios have the keys of a scenario's file; b, c and d say what differs from a, or, with a
network of their own, stand alone. `whatif` are texts as a command writes them: "+cuda_graph".
"""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from app.lessons.lesson import Card, Choose, Lesson, LessonAxis, LessonSide
from app.lessons.placeholders import PLACE, SHIFT, known, place
from app.lessons.words import WORDS
from simulator.analysis.sweep import axis
from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, contents
from simulator.formats.toml import shown
from simulator.modes import Mode
from simulator.scenario.registry import apply, parse
from simulator.scenario.resolved import resolve
from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-lesson", 1
_MAX_BYTES, _MAX_TEXT, _MAX_LABEL, _MAX_CARDS, _MAX_VALUES = 32 * 1024, 1200, 60, 4, 40


class _Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    label: str = ""
    network: str | None = None
    gpu: str | None = None
    host: str | None = None
    mode: Mode | None = None
    batch: int | None = None
    seq: int | None = None
    dtype: str | None = None
    training: bool | None = None
    optimizer: str | None = None
    sizes: dict[str, bool | int | float | str] = {}
    whatif: list[str] = []


class _Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    figure: str = ""
    note: str = ""
    regime: Literal["", "compute", "memory", "overhead", "a", "b", "c", "d"] = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    format: Literal["ridgepoint-lesson"]
    version: int
    title: str
    question: str
    explain: str
    topic: str = ""
    guess: str | None = None
    ask: list[str] = []
    over: str = ""
    values: list[int] = []
    markers: list[int] = []
    low: float | None = None
    high: float | None = None
    choose: Choose = ""
    choice: str = ""
    of: str = "a"
    card: list[_Card] = []
    point: list[_Card] = []
    opens: str = "a"
    a: _Side
    b: _Side | None = None
    c: _Side | None = None
    d: _Side | None = None


def read(path: Path) -> Lesson:
    """The lesson of a file. InputError with the file, the key, what came and what was expected."""
    raw = contents(path, "a lesson", _MAX_BYTES, LONGEST_LINE)
    try:
        table = tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            f'{path}: not TOML: {error}; expected lines such as `title = "…"`; correct the file'
        ) from None
    if table.get("format") == FORMAT and table.get("version", VERSION) != VERSION:
        raise InputError(
            f"{path}: version is {shown(table['version'])}: expected {VERSION}; write it so"
        )
    try:
        return _lesson(path.stem, msgspec.convert(table, _File))
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {_complaint(str(error))}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _lesson(name: str, file: _File) -> Lesson:
    sides = _sides(file)
    letters = tuple(side.letter for side in sides)
    line = _line(file, sides[0].scenario)
    guess = file.guess if file.guess is not None else ("" if file.choose else "period")
    if guess and guess not in WORDS and not (guess == "shift" and line):
        also = ", or shift with an axis in `over`" if guess == "shift" or line else ""
        raise InputError(
            f"guess is {shown(guess)}: expected a figure ({', '.join(WORDS)}){also}; write one"
        )
    if not guess and not file.choose:
        raise InputError('guess is "": expected a figure, or choose = "regime"; ask something')
    asked = tuple(file.ask) or letters[1:] or letters
    for key, named in (("ask", asked), ("of", (file.of,)), ("opens", (file.opens,))):
        for letter in named:
            if letter not in letters:
                raise InputError(
                    f"{key} names {shown(letter)}: expected one of {', '.join(letters)}"
                )
    if file.choose == "fastest" and len(sides) < 2:
        raise InputError('choose is "fastest": expected a side [b] beside [a]; add one')
    for key in ("low", "high"):
        bound = getattr(file, key)
        if bound is not None and not 0 <= bound < 1e30:
            raise InputError(f"{key} is {bound}: expected a figure of 0 or more, in SI units")
    if file.low is not None and file.high is not None and file.low >= file.high:
        raise InputError(f"low is {file.low:g}: expected less than high, {file.high:g}")
    cards, points = (_cards(key, getattr(file, key)) for key in ("card", "point"))
    for card in (*cards, *points):
        if len(card.regime) == 1 and card.regime not in letters:
            raise InputError(f"regime is {card.regime!r}: expected one of {', '.join(letters)}")
    _check_texts(file, letters, line)
    return Lesson(
        name,
        file.title,
        file.topic,
        file.question,
        file.explain,
        sides,
        line,
        guess,
        asked,
        file.low,
        file.high,
        file.choose,
        file.choice,
        file.of,
        cards,
        points,
        file.opens,
    )


def _sides(file: _File) -> tuple[LessonSide, ...]:
    first = _scenario("a", file.a, None)
    found = [LessonSide("a", file.a.label or "A", first)]
    for letter in "bcd":
        side: _Side | None = getattr(file, letter)
        if side is not None:
            label = side.label or letter.upper()
            found.append(LessonSide(letter, label, _scenario(letter, side, file.a)))
    if any(len(side.label) > _MAX_LABEL for side in found):
        raise InputError(f"label is longer than {_MAX_LABEL} letters: expected a few words")
    return tuple(found)


def _scenario(letter: str, side: _Side, first: _Side | None) -> Scenario:
    """A side's scenario: what it says, over what the first one says."""
    keys: dict[str, Any] = {}
    for each in (first if side.network is None else None, side):
        if each is not None:
            given = {k: v for k in _PLAIN if (v := getattr(each, k)) is not None}
            keys = {**keys, **given, "sizes": {**keys.get("sizes", {}), **each.sizes}}
    if "network" not in keys:
        raise InputError(
            f'{letter}.network is missing: expected a network\'s name, such as "bert-base"; add it'
        )
    texts = [*(first.whatif if first and side.network is None else ()), *side.whatif]
    try:
        scenario = Scenario(**keys)
        resolve(scenario)  # refused here rather than before a class
        for text in texts:
            scenario = apply(scenario, *parse(text))
    except InputError as error:
        raise InputError(f"[{letter}] {error}") from None
    return scenario


_PLAIN = tuple(name for name in _Side.__struct_fields__ if name not in ("label", "sizes", "whatif"))


def _line(file: _File, scenario: Scenario) -> LessonAxis | None:
    if not file.over:
        for key in ("values", "markers"):
            if getattr(file, key):
                raise InputError(f'{key} without an axis: expected over = "batch", say; add it')
        return None
    try:
        whole = axis(scenario, file.over).kind == "whole"
    except InputError as error:
        raise InputError(f"over: {error}") from None
    if not whole:
        raise InputError(f"over is {shown(file.over)}: expected an axis of whole numbers")
    values = tuple(sorted(set(file.values)))
    if not 2 <= len(values) <= _MAX_VALUES:
        raise InputError(
            f"values are {len(values)}: expected 2 to {_MAX_VALUES} whole numbers from 1 on"
        )
    if values[0] < 1:
        raise InputError(f"values has {values[0]}: expected whole numbers from 1 on; correct it")
    here = scenario.sizes.get(file.over, getattr(scenario, file.over, None))
    if here != values[0]:
        raise InputError(
            f"values begin at {values[0]}, and a.{file.over} is {shown(here)}: expected the first "
            "value to be that of side a; write the same"
        )
    markers = tuple(sorted(set(file.markers))) or (values[-1],)
    for marker in markers:
        if marker not in values:
            raise InputError(f"markers has {marker}: expected some of the values; add it to them")
    return LessonAxis(file.over, values, markers)


def _cards(key: str, listed: list[_Card]) -> tuple[Card, ...]:
    if len(listed) > _MAX_CARDS:
        raise InputError(f"{len(listed)} of [[{key}]]: expected {_MAX_CARDS} at most; drop some")
    return tuple(Card(c.name, c.figure, c.note, c.regime) for c in listed)


def _check_texts(file: _File, letters: tuple[str, ...], line: LessonAxis | None) -> None:
    """Every placeholder is a word of a side that there is; the question asks for no answer."""
    texts = {
        "title": file.title,
        "topic": file.topic,
        "question": file.question,
        "explain": file.explain,
        "choice": file.choice,
    }
    for key, listed in (("card", file.card), ("point", file.point)):
        for index, card in enumerate(listed, 1):
            for name in ("name", "figure", "note"):
                texts[f"{key}[{index}].{name}"] = getattr(card, name)
    for key, text in texts.items():
        if key in ("title", "question", "explain") and not text.strip():
            raise InputError(f"{key} is empty: expected a sentence; write one")
        if len(text) > _MAX_TEXT:
            raise InputError(f"{key} has {len(text)} letters: expected {_MAX_TEXT} at most")
        if key == "title" and len(text) > _MAX_LABEL:
            raise InputError(f"title has {len(text)} letters: expected {_MAX_LABEL} at most")
        if key in ("title", "topic") and PLACE.search(text):
            raise InputError(f"{key} has a placeholder: expected words alone")
        if lone := re.search(r"[{}].{0,20}", PLACE.sub("", text)):
            raise InputError(
                f"{key} has a brace without its other one, at {lone[0]!r}: expected a figure's "
                "word between two, such as {period}; add it"
            )
        for written in PLACE.findall(text):
            found = place(written)
            if found is None:
                near = get_close_matches(written, [*WORDS, *SHIFT], 1)
                hint = f"did you mean {{{near[0]}}}?" if near else f"expected one of {known()}"
                raise InputError(f"{key} has {{{written[:40]}}}, which is no word: {hint}")
            if found.side not in letters:
                raise InputError(
                    f"{key} has {{{written}}}, and there is no side [{found.side}]; add it"
                )
            if found.word in SHIFT and line is None:
                raise InputError(f"{key} has {{{written}}}: expected an axis in `over`; add it")
            if key in ("question", "choice") and (found.word in SHIFT or found.side != "a"):
                raise InputError(
                    f"{key} has {{{written}}}, which is not known before the answer: expected "
                    "figures of side a there"
                )


def _complaint(reason: str) -> str:
    reason, _, where = reason.partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".")
    if unknown := re.search(r"unknown field `(.*)`", reason, re.DOTALL):
        known_keys = _struct(key).__struct_fields__
        near = get_close_matches(unknown[1][:64], known_keys, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known_keys)};"
        inside = f" in {key}" if key else ""
        return f"unknown key {shown(unknown[1])}{inside}: {hint} correct or remove it"
    if missing := re.search(r"required field `(.*)`", reason):
        if key:
            return f"{key} has no {missing[1]}: expected one beside its figure; add it"
        return (
            f"{missing[1]!r} is missing: expected format, version, title, question, explain and "
            "[a]; add it"
        )
    if choice := re.search(r"Invalid enum value '(.*)'", reason, re.DOTALL):
        hint = get_type_hints(_struct(key))[key.rpartition(".")[2]]
        options = [word for word in _literals(hint) if word]
        return f"{key} is {shown(choice[1])}: expected {' or '.join(options)}; write it so"
    return f"{key or 'the file'}: {reason[:1].lower()}{reason[1:]}; correct it"


def _literals(hint: object) -> list[str]:
    """The words that a type allows."""
    if isinstance(hint, str):
        return [hint]
    return [word for part in get_args(hint) for word in _literals(part)]


def _struct(key: str) -> type[_Card | _Side | _File]:
    """Whose key is wrong."""
    first = key.partition("[")[0].partition(".")[0]
    if first in ("card", "point"):
        return _Card
    return _Side if first in ("a", "b", "c", "d") else _File
