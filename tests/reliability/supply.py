"""Check the installed packages: their licences, and known vulnerabilities of the pinned versions.

    python -m tests.reliability.supply
    python -m tests.reliability.supply --advisories osv-pypi.zip --record

`--advisories` is a copy of the Open Source Vulnerabilities of PyPI on this machine: a folder or a
ZIP file of its JSON files (https://osv.dev, `PyPI/all.zip`). Without a copy the run reports that it
did not check. Nothing is downloaded. The exit status is 1 if a pinned version has a known
vulnerability or an installed package states no licence.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tests.reliability import promises

ROOT = Path(__file__).parents[2]
EXTRAS = ("", "hf", "timm", "gui", "calibration", "docs", "dev")
NOT_CHECKED = "not checked against advisories: no local database (--advisories)"


class Package(NamedTuple):
    """An installed package that the project needs, directly or not."""

    name: str
    version: str
    licence: str


def packages(root: str = "ridgepoint") -> list[Package]:
    """All packages that `root` with its extras requires here, by name; those that are not installed
    are left out."""
    waiting: list[tuple[str, frozenset[str]]] = [(root, frozenset(EXTRAS))]
    installed: dict[str, Distribution] = {}
    while waiting:
        name, extras = waiting.pop()
        name = canonicalize_name(name)
        if name in installed and extras <= {""}:
            continue
        try:
            package = installed[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for text in package.requires or ():
            required = Requirement(text)
            marker = required.marker
            required_here = [marker is None or marker.evaluate({"extra": e}) for e in extras | {""}]
            if any(required_here) and canonicalize_name(required.name) not in installed:
                waiting.append((required.name, frozenset(required.extras)))
    del installed[canonicalize_name(root)]
    return [Package(n, p.version, licence(p)) for n, p in sorted(installed.items())]


def licence(package: Distribution) -> str:
    """The licence that a package states: its expression, its classifiers, or the first line of its
    text; or an empty string."""
    about = package.metadata.json
    if expression := about.get("license_expression"):
        return str(expression)
    classifiers = map(str, about.get("classifier", ()))
    named = [t.rpartition(" :: ")[2] for t in classifiers if t.startswith("License ::")]
    stated = str(about.get("license", "")).strip().splitlines()
    return ", ".join(named) or (stated[0][:60] if stated else "")


def pinned(constraints: Path) -> dict[str, Version]:
    """The versions of a constraints file, by canonical name."""
    matches = re.findall(r"^([\w.-]+)==([^\s;#]+)", constraints.read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in matches}


def advisories(database: Path) -> Iterator[dict[str, Any]]:
    """The advisories of a folder or a ZIP file. Raises ValueError if it is neither, or empty."""
    texts = _texts(database)
    empty = True
    for text in texts:
        empty = False
        yield json.loads(text)
    if empty:
        raise ValueError(f"{database}: no advisory: expected JSON files of osv.dev")


def _texts(database: Path) -> Iterator[bytes]:
    if database.is_dir():
        yield from (path.read_bytes() for path in sorted(database.rglob("*.json")))
        return
    try:
        with ZipFile(database) as archive:
            yield from (archive.read(name) for name in archive.namelist() if name.endswith(".json"))
    except (OSError, BadZipFile) as error:
        raise ValueError(f"{database}: {error}: expected a folder or a ZIP file") from None


def vulnerable(pins: dict[str, Version], database: Path) -> list[str]:
    """The advisories that apply to a pinned version, such as "torch 2.13.0: GHSA-…"."""
    return sorted(
        f"{name} {pins[name]}: {advisory['id']}"
        for advisory in advisories(database)
        if "withdrawn" not in advisory
        for affected in advisory.get("affected", ())
        if (name := _name(affected)) in pins and _affects(affected, pins[name])
    )


def _name(affected: dict[str, Any]) -> str:
    package = affected.get("package", {})
    return canonicalize_name(package.get("name", "")) if package.get("ecosystem") == "PyPI" else ""


def _affects(affected: dict[str, Any], version: Version) -> bool:
    """Whether a version is listed, or lies in a range: from `introduced` until before `fixed`, or
    up to `last_affected`."""
    if str(version.public) in affected.get("versions", ()):
        return True
    inside = False
    for each in affected.get("ranges", ()):
        if each.get("type") != "ECOSYSTEM":
            continue
        for event in each["events"]:
            ((kind, text),) = event.items()
            try:
                bound = Version(text)
            except InvalidVersion:
                continue
            if kind == "introduced" and version >= bound:
                inside = True
            elif (kind == "fixed" and version >= bound) or (
                kind == "last_affected" and version > bound
            ):
                inside = False
    return inside


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--advisories", type=Path, help="a folder or a ZIP file of osv.dev")
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    needed = packages()
    for package in needed:
        print(f"{package.name} {package.version}: {package.licence or 'no licence stated'}")
    without = [package.name for package in needed if not package.licence]
    pins = pinned(ROOT / "constraints.txt")
    known: list[str] = []
    checked = NOT_CHECKED
    if options.advisories is not None:
        try:
            known = vulnerable(pins, options.advisories)
        except ValueError as error:
            parser.error(str(error))
        checked = f"{len(pins)} pinned versions have {len(known)} known vulnerabilities"
    print(*known, checked, sep="\n")
    if options.record:
        figure = f"{len(needed)} packages, {len(without)} state no licence; {checked}"
        promises.write(
            "packages state their licences, and pinned versions are checked against advisories",
            "python -m tests.reliability.supply",
            figure,
        )
    return int(bool(known or without))


if __name__ == "__main__":
    sys.exit(main())
