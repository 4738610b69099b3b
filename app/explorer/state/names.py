"""The letters of the scenarios, and the names that scenarios have until the user renames them."""

LETTERS = "ABCD"


def first_name(place: int) -> str:
    """The name of a new scenario at an index: "Scenario A", "Variant B"."""
    return f"{'Variant' if place else 'Scenario'} {LETTERS[place]}"
