"""Show a docstring's aligned fields (`name   what it is`, further lines indented) as a list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from griffe import Extension, Object

_FIELD = re.compile(r"^([a-z_][\w, .]*?)\s{2,}(\S.*)$")
_MORE = re.compile(r"^\s{4,}(\S.*)$")


class AlignedFields(Extension):
    """Rewrites the docstrings of everything that griffe collects."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Replace the aligned fields of one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(as_lists(obj.docstring.value.splitlines()))


def as_lists(lines: list[str]) -> Iterator[str]:
    """The lines, with fields as items of Markdown lists.

    >>> list(as_lists(["A step.", "", "gpu    its id", "       or a file"]))
    ['A step.', '', '- `gpu`: its id', '    or a file']
    """
    inside = False
    for line in lines:
        if field := _FIELD.match(line):
            yield f"- `{field[1]}`: {field[2]}"
            inside = True
        elif inside and (more := _MORE.match(line)):
            yield f"    {more[1]}"
        else:
            inside = False
            yield line
