"""Versions of installed packages.

The version is read from the name of the package's folder. `importlib.metadata.version` imports the
modules for e-mail and zip files, which takes a twentieth of the time of a short command.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

_SUFFIX = ".dist-info"


def installed_version(package: str) -> str | None:
    """The version of an installed package, such as "2.13.0+cpu"; None if it is not installed."""
    return _installed(package, tuple(sys.path))


@cache
def _installed(package: str, places: tuple[str, ...]) -> str | None:
    name = re.escape(re.sub(r"[-_.]+", "_", package).lower())
    folder_name = re.compile(rf"{name}-([^-]+){re.escape(_SUFFIX)}")
    for place in map(Path, places):
        for path in place.glob(f"*{_SUFFIX}") if place.is_dir() else ():
            if version := folder_name.fullmatch(path.name.lower()):
                return version[1]
    return _described_otherwise(package)


def _described_otherwise(package: str) -> str | None:
    """The version of a package whose folder has no version in its name (an old installation); None
    if it is not installed."""
    # takes 30 ms to import, and few installations need it
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
