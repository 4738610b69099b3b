"""The pages of the documentation name existing things, and the examples run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

import simulator
from tests.benchmarks.import_graph import TOPS, floors, flowchart, graph, rings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=lambda page: page.stem)
def test_an_api_page_names_what_can_be_imported(page: Path) -> None:
    names = re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    assert names
    for name in names:
        assert resolve_name(name)


def test_the_api_pages_show_every_public_name() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
    shown = set(re.findall(r"^::: (?:\S+\.)?(\w+)$", pages, re.MULTILINE))
    for members in re.findall(r"members: \[(.*)\]", pages):
        shown |= set(members.split(", "))
    assert set(simulator.__all__) - shown == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_links_to_files_and_headings_that_exist(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#:\s]*)#?([^):\s]*)\)", page.read_text("utf-8")):
        other = page.parent / target if target else page
        assert other.exists(), target
        assert not heading or heading in anchors(other), f"{target}#{heading}"


def anchors(page: Path) -> set[str]:
    """The fragments of a page's headings, as GitHub and MkDocs both make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_the_menu_holds_every_page() -> None:
    menu = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    assert menu == {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}


def test_the_page_of_examples_includes_each_file_of_the_folder() -> None:
    """Between two markers, a notation of pymdownx.snippets that the formatter does not take for
    Python."""
    page = (DOCS / "examples.md").read_text("utf-8")
    included = re.findall(r"^--8<--\n(\S+)\n--8<--$", page, re.MULTILINE)
    files = (ROOT / "examples").glob("*.py")
    assert sorted(included) == sorted(path.relative_to(ROOT).as_posix() for path in files)


EXAMPLES = ["capacity_planner", "architect", "teacher"]
RUN_EACH = """
import json, runpy, sys, traceback
from contextlib import redirect_stdout
from io import StringIO

runs = {}
for path in sys.argv[1:]:
    printed, error = StringIO(), ""
    try:
        with redirect_stdout(printed):
            runpy.run_path(path, run_name="__main__")
    except BaseException:
        error = traceback.format_exc()
    runs[path] = printed.getvalue(), error
print(json.dumps(runs))
"""


@pytest.fixture(scope="module")
def runs() -> dict[str, tuple[str, str]]:
    """What each example prints, and its error or "". One process runs them all, because it imports
    torch for more than a second."""
    paths = [str(ROOT / "examples" / f"{name}.py") for name in EXAMPLES]
    command = [sys.executable, "-c", RUN_EACH, *paths]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return {Path(path).stem: each for path, each in json.loads(run.stdout).items()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, runs: dict[str, tuple[str, str]]) -> None:
    printed, error = runs[name]
    assert error == ""
    assert len(printed.splitlines()) >= 5


@pytest.mark.parametrize("top", TOPS)
def test_the_package_graph_is_drawn_as_it_is(top: str) -> None:
    arrows = graph(ROOT, top)
    assert rings(arrows) == []
    assert f"```mermaid\n{flowchart(arrows)}\n```" in (DOCS / "architecture.md").read_text("utf-8")


def test_a_ring_counts_as_one_floor() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str](), "e": {"a", "d"}}
    assert rings(arrows) == [{"b", "c"}]
    assert floors(arrows) == 4  # e; a; the ring of b and c; d
    assert flowchart(arrows).splitlines()[1:3] == ["  a --> b", "  b --> c"]
    assert "  e --> d" not in flowchart(arrows)  # e → a → b → c → d
