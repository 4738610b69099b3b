"""The versions that are installed for a combination, and the text of its answers."""

from __future__ import annotations

import sys
from typing import Any

from tests.reliability.versions import CASES, INSTALLED, ROOT, Stack, figure


def test_named_versions_are_installed() -> None:
    here = Stack(sys.executable, INSTALLED, INSTALLED, INSTALLED)
    assert here.requirements == []
    assert here._replace(torch="2.12").requirements == ["torch==2.12.*"]
    other = here._replace(python="python3.13", torch="2.11", timm="1.0.20")
    assert other.requirements == ["torch==2.11.*", "timm==1.0.20.*", str(ROOT)]


def test_the_figure_names_versions_and_differences() -> None:
    def answer(torch: str, factor: float, left_out: str = "") -> dict[str, Any]:
        periods = {name: factor for name in CASES if name != left_out}
        errors = {left_out: "no"} if left_out else {}
        versions = {"Python": "3.11.2", "torch": torch}
        return {"versions": versions, "periods_s": periods, "errors": errors}

    assert figure([answer("2.13.0", 2.0), answer("2.12.1", 2.1, "resnet50")]) == (
        "Python 3.11.2, torch 2.13.0: 7 of 7; Python 3.11.2, torch 2.12.1: 6 of 7, periods within "
        "5.0% of the first"
    )
