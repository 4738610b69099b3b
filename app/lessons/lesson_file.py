"""Read the TOML file of a lesson: data only, versioned and validated.

Sides have the keys of a scenario's file. Sides b, c and d hold their differences from a, or stand
alone if they name a network. `whatif` are texts as on the command line: "+cuda_graph".
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from app.answers.cluster.choice import ClusterChoice, chosen
from app.lessons.changes import with_whatifs
from app.lessons.cluster_words import FIGURES, NAMED
from app.lessons.lesson import Card, Lesson, LessonAxis, LessonSide
from app.lessons.lesson_keys import CardKeys, FileKeys, SideKeys, complaint
from app.lessons.lesson_texts import LONGEST_LABEL, check_texts
from app.lessons.placeholders import PLACE, place
from app.lessons.task_file import task_of
from app.lessons.words import WORDS
from simulator.analysis.sweep import axis
from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, contents
from simulator.formats.toml import shown
from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-lesson", 1
MAX_BYTES = 32 * 1024
_MAX_CARDS, _MAX_VALUES = 4, 40


def read(path: Path) -> Lesson:
    """Read a lesson. Raises InputError with the file, the key, the value and the expected value."""
    raw = contents(path, "a lesson", MAX_BYTES, LONGEST_LINE)
    return of_table(table_of(raw, str(path)), path.stem, str(path))


def table_of(raw: bytes, source: str) -> dict[str, Any]:
    """The TOML table of a text. Raises InputError, which names the source, if it is not TOML."""
    try:
        return tomllib.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        raise InputError(
            f'{source}: not TOML: {error}; expected lines such as `title = "…"`; correct the file'
        ) from None


def of_table(table: dict[str, Any], name: str, source: str) -> Lesson:
    """A lesson of this name from its table. Raises InputError, which names the source."""
    if table.get("format") == FORMAT and table.get("version", VERSION) != VERSION:
        raise InputError(
            f"{source}: version is {shown(table['version'])}: expected {VERSION}; set it"
        )
    try:
        return _lesson(name, msgspec.convert(table, FileKeys))
    except msgspec.ValidationError as error:
        raise InputError(f"{source}: {complaint(str(error))}") from None
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _lesson(name: str, file: FileKeys) -> Lesson:
    sides = _sides(file)
    letters = tuple(side.letter for side in sides)
    line = _line(file, sides[0].scenario)
    guess = file.guess if file.guess is not None else ("" if file.choose else "period")
    if guess and guess not in WORDS and not (guess == "shift" and line):
        also = ", or shift with an axis in `over`" if guess == "shift" or line else ""
        raise InputError(
            f"guess is {shown(guess)}: expected a figure ({', '.join(WORDS)}){also}; choose one"
        )
    if not guess and not file.choose:
        raise InputError('guess is "": expected a figure, or choose = "regime"; add one')
    askable = tuple(file.ask) or letters[1:] or letters
    for key, named in (("ask", askable), ("of", (file.of,)), ("opens", (file.opens,))):
        for letter in named:
            if letter not in letters:
                raise InputError(
                    f"{key} names {shown(letter)}: expected one of {', '.join(letters)}"
                )
    if file.choose == "fastest" and len(sides) < 2:
        raise InputError('choose is "fastest": expected a side [b] to compare with [a]; add one')
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
    check_texts(file, letters, line)
    _check_clusters(sides, file, guess)
    return Lesson(
        name,
        file.title,
        file.topic,
        file.question,
        file.explain,
        sides,
        line,
        guess,
        askable,
        file.low,
        file.high,
        file.choose,
        file.choice,
        file.of,
        cards,
        points,
        file.opens,
        task_of(file.task, _side(sides, file.opens)) if file.task else None,
        file.minutes or 0,
        file.needs,
    )


def _side(sides: tuple[LessonSide, ...], letter: str) -> LessonSide:
    return next(side for side in sides if side.letter == letter)


def _sides(file: FileKeys) -> tuple[LessonSide, ...]:
    first = _scenario("a", file.a, None)
    sides = [LessonSide("a", file.a.label or "A", first, _cluster("a", file.a, None, first))]
    for letter in "bcd":
        side: SideKeys | None = getattr(file, letter)
        if side is not None:
            label = side.label or letter.upper()
            scenario = _scenario(letter, side, file.a)
            cluster = _cluster(letter, side, file.a, scenario)
            sides.append(LessonSide(letter, label, scenario, cluster))
    if any(len(side.label) > LONGEST_LABEL for side in sides):
        raise InputError(f"label is longer than {LONGEST_LABEL} characters: shorten it")
    return tuple(sides)


def _scenario(letter: str, side: SideKeys, first: SideKeys | None) -> Scenario:
    """The scenario of a side: its keys override those of the first side."""
    keys: dict[str, Any] = {}
    for each in (first if side.network is None else None, side):
        if each is not None:
            fields = {k: v for k in _PLAIN if (v := getattr(each, k)) is not None}
            keys = {**keys, **fields, "sizes": {**keys.get("sizes", {}), **each.sizes}}
    if "network" not in keys:
        raise InputError(
            f'{letter}.network is missing: expected a network\'s name, such as "bert-base"; add it'
        )
    texts = [*(first.whatif if first and side.network is None else ()), *side.whatif]
    try:
        return with_whatifs(Scenario(**keys), texts)
    except InputError as error:
        raise InputError(f"[{letter}] {error}") from None


def _cluster(
    letter: str, side: SideKeys, first: SideKeys | None, scenario: Scenario
) -> ClusterChoice | None:
    """The GPUs of a side; None for a single GPU."""
    inherited = first if first is not None and side.network is None else side
    name = side.cluster if side.cluster is not None else inherited.cluster
    words = side.parallel if side.parallel is not None else inherited.parallel
    if not name:
        if words:
            raise InputError(
                f"[{letter}] parallel is {shown(words)} without a cluster: expected a cluster, "
                'such as cluster = "8xh200"; add it'
            )
        return None
    try:
        return chosen(scenario, name, words or "ddp")
    except InputError as error:
        raise InputError(f"[{letter}] {error}") from None


_APART = ("label", "sizes", "whatif", "cluster", "parallel")
_PLAIN = tuple(name for name in SideKeys.__struct_fields__ if name not in _APART)


def _check_clusters(sides: tuple[LessonSide, ...], file: FileKeys, guess: str) -> None:
    """Check that sides with a cluster use only the figures of a step over several GPUs."""
    for side in sides:
        if side.cluster is None:
            continue
        if file.over:
            raise InputError(
                f"over is {shown(file.over)}, but [{side.letter}] has a cluster: expected one GPU; "
                "remove either"
            )
        if guess and guess not in FIGURES:
            raise InputError(
                f"guess is {shown(guess)}, but [{side.letter}] has a cluster: expected one of "
                f"{', '.join(FIGURES)}; choose one"
            )
        for text in (
            file.question,
            file.explain,
            *(t for c in file.card for t in (c.figure, c.note)),
        ):
            for written in PLACE.findall(text):
                placeholder = place(written)
                if (
                    placeholder
                    and placeholder.side == side.letter
                    and placeholder.word not in (*FIGURES, *NAMED)
                ):
                    raise InputError(
                        f"{{{written}}} of [{side.letter}], which has a cluster: expected one of "
                        f"{', '.join((*FIGURES, *NAMED))}; choose one"
                    )


def _line(file: FileKeys, scenario: Scenario) -> LessonAxis | None:
    if not file.over:
        for key in ("values", "markers"):
            if getattr(file, key):
                raise InputError(
                    f'{key} without an axis: expected `over`, such as over = "batch"; add it'
                )
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
            f"{len(values)} values: expected 2 to {_MAX_VALUES} whole numbers of at least 1"
        )
    if values[0] < 1:
        raise InputError(
            f"values has {values[0]}: expected whole numbers of at least 1; correct it"
        )
    own = scenario.sizes.get(file.over, getattr(scenario, file.over, None))
    if own != values[0]:
        raise InputError(
            f"values begin at {values[0]}, but a.{file.over} is {shown(own)}: expected the same "
            "number; change one"
        )
    markers = tuple(sorted(set(file.markers))) or (values[-1],)
    for marker in markers:
        if marker not in values:
            raise InputError(f"markers has {marker}: expected some of `values`; add it there")
    return LessonAxis(file.over, values, markers)


def _cards(key: str, listed: list[CardKeys]) -> tuple[Card, ...]:
    if len(listed) > _MAX_CARDS:
        raise InputError(f"{len(listed)} of [[{key}]]: expected at most {_MAX_CARDS}; remove some")
    return tuple(Card(c.name, c.figure, c.note, c.regime) for c in listed)
