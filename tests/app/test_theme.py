"""The tokens of pictures: contrast and the distance between regimes, computed."""

from itertools import combinations

import pytest

from app.theme import TERMINAL, THEMES, Theme, contrast, mixed, rgb, theme
from simulator.errors import InputError

REGIMES = ("compute", "memory", "overhead", "communication")
EACH = pytest.mark.parametrize("name", list(THEMES))


def grounds(tokens: Theme) -> tuple[str, ...]:
    return (tokens.bg0, tokens.bg1, tokens.bg2, tokens.bg3)


@EACH
def test_words_are_readable_on_every_ground(name: str) -> None:
    colours = theme(name)
    regimes = [colours.regime(r).ink for r in REGIMES]
    words = (
        colours.ink,
        colours.ink2,
        colours.ink3,
        colours.a,
        colours.b,
        colours.c,
        colours.danger,
        *regimes,
    )
    for ink in words:
        for ground in grounds(colours):
            assert contrast(ink, ground) >= 4.5, (ink, ground)
    assert contrast(colours.on_accent, colours.b) >= 4.5


@EACH
def test_marks_are_seen_on_panels(name: str) -> None:
    colours = theme(name)
    for regime in REGIMES:
        for ground in (colours.bg1, colours.bg2):
            assert contrast(colours.regime(regime).fill, ground) >= 3.0


def test_regimes_on_a_terminal_of_any_ground() -> None:
    for colour in TERMINAL.values():
        assert contrast(colour, "#000000") >= 3 and contrast(colour, "#FFFFFF") >= 3


def oklab(colour: str) -> tuple[float, float, float]:
    """Ottosson's OKLab, from sRGB."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb(colour))
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


@EACH
def test_regimes_differ_in_colour(name: str) -> None:
    colours = theme(name)
    fills = [oklab(colours.regime(r).fill) for r in REGIMES[:3]]
    for one, other in combinations(fills, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 >= 0.185


@EACH
def test_communication_differs_in_colour(name: str) -> None:
    colours = theme(name)
    own = oklab(colours.communication.fill)
    for regime in REGIMES[:3]:
        fill = oklab(colours.regime(regime).fill)
        assert sum((a - b) ** 2 for a, b in zip(own, fill, strict=True)) ** 0.5 >= 0.175


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)  # WCAG's own example
    assert mixed("#FFFFFF", "#000000", 0.5) == "#808080"


def test_an_unknown_theme() -> None:
    with pytest.raises(InputError, match=r"^unknown theme 'blue': expected dark or light$"):
        theme("blue")
