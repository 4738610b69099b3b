"""The colours of pictures: computed contrast, and the distance between regimes."""

from itertools import combinations

import pytest

from app.theme import TERMINAL, THEMES, Theme, contrast, mixed, rgb, theme
from simulator.errors import InputError

REGIMES = ("compute", "memory", "overhead", "communication")
Triple = tuple[float, float, float]
VISION: dict[str, tuple[Triple, Triple, Triple]] = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Matrices on linear RGB of Machado, Oliveira and Fernandes, "A Physiologically-based Model for
Simulation of Color Vision Deficiency" (2009), severity 1."""
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


def linear(colour: str) -> Triple:
    """Linear RGB, from sRGB."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb(colour))
    return r, g, b


def oklab(light: Triple) -> Triple:
    """Ottosson's OKLab, from linear RGB."""
    r, g, b = light
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def seen(colour: str, vision: str) -> Triple:
    """A colour in OKLab, as seen with a kind of colour vision."""
    r, g, b = linear(colour)
    one, two, three = (
        min(1.0, max(0.0, row[0] * r + row[1] * g + row[2] * b)) for row in VISION[vision]
    )
    return oklab((one, two, three))


def distance(one: Triple, other: Triple) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5


@pytest.mark.parametrize(
    ("name", "vision", "least", "to_communication"),
    [
        ("dark", "normal", 0.19, 0.17),
        ("dark", "deuteranopia", 0.17, 0.15),
        ("dark", "protanopia", 0.09, 0.11),
        ("dark", "tritanopia", 0.06, 0.06),
        ("light", "normal", 0.19, 0.19),
        ("light", "deuteranopia", 0.15, 0.05),
        ("light", "protanopia", 0.09, 0.09),
        ("light", "tritanopia", 0.03, 0.13),
    ],
)
def test_regimes_differ_for_every_colour_vision(
    name: str, vision: str, least: float, to_communication: float
) -> None:
    """Where the distance is small, shapes and patterns tell regimes apart."""
    colours = theme(name)
    fills = [seen(colours.regime(r).fill, vision) for r in REGIMES[:3]]
    assert min(distance(a, b) for a, b in combinations(fills, 2)) >= least
    communication = seen(colours.communication.fill, vision)
    assert min(distance(communication, fill) for fill in fills) >= to_communication


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)  # WCAG's own example
    assert mixed("#FFFFFF", "#000000", 0.5) == "#808080"


def test_an_unknown_theme() -> None:
    with pytest.raises(InputError, match=r"^unknown theme 'blue': expected dark or light$"):
        theme("blue")
