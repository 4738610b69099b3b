"""Themes as keys of the caches that painting uses for every item."""

from dataclasses import replace

from app.theme import DARK, LIGHT


def test_a_theme_is_looked_up_by_its_name_and_compared_by_all_its_colours() -> None:
    assert hash(DARK) == hash("dark") and hash(LIGHT) == hash("light")
    assert replace(DARK, b="#FFFFFF") != DARK and replace(DARK) == DARK
