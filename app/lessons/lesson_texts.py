"""Check the texts of a lesson's file: their lengths and their placeholders."""

from __future__ import annotations

import re
from difflib import get_close_matches

from app.lessons.lesson import LessonAxis
from app.lessons.lesson_keys import FileKeys
from app.lessons.placeholders import PLACE, SHIFT, known, place
from app.lessons.words import WORDS
from simulator.errors import InputError

LONGEST_TEXT, LONGEST_LABEL = 1200, 60  # characters


def check_texts(file: FileKeys, letters: tuple[str, ...], line: LessonAxis | None) -> None:
    """Raise InputError, which names the key, if a text is too long or empty, or if a placeholder
    has no figure. `letters` are the letters of the sides, `line` is the axis, if there is one."""
    texts = {
        "title": file.title,
        "topic": file.topic,
        "needs": file.needs,
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
            raise InputError(f"{key} is empty: expected a sentence; add one")
        if len(text) > LONGEST_TEXT:
            raise InputError(f"{key} has {len(text)} characters: expected at most {LONGEST_TEXT}")
        if key == "title" and len(text) > LONGEST_LABEL:
            raise InputError(f"title has {len(text)} characters: expected at most {LONGEST_LABEL}")
        if key in ("title", "topic", "needs") and PLACE.search(text):
            raise InputError(f"{key} has a placeholder: expected plain text")
        if lone := re.search(r"[{}].{0,20}", PLACE.sub("", text)):
            raise InputError(
                f"{key} has an unmatched brace at {lone[0]!r}: expected a placeholder "
                "such as {period}; add the other brace"
            )
        for written in PLACE.findall(text):
            placeholder = place(written)
            if placeholder is None:
                near = get_close_matches(written, [*WORDS, *SHIFT], 1)
                hint = f"did you mean {{{near[0]}}}?" if near else f"expected one of {known()}"
                raise InputError(
                    f"{key} has {{{written[:40]}}}, which is not a placeholder: {hint}"
                )
            if placeholder.side not in letters:
                raise InputError(
                    f"{key} has {{{written}}}, but there is no side [{placeholder.side}]; add it"
                )
            if placeholder.word in SHIFT and line is None:
                raise InputError(f"{key} has {{{written}}}: expected an axis in `over`; add it")
            if key in ("question", "choice") and (
                placeholder.word in SHIFT or placeholder.side != "a"
            ):
                raise InputError(
                    f"{key} has {{{written}}}, which would give the answer away: expected "
                    "figures of side a"
                )
