"""The templates of pages and their parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from app import quantities as q


def rendered(template: str, contents: Mapping[str, Any]) -> str:
    """Render a template of this folder with these values; all texts are escaped."""
    page = Environment(
        loader=PackageLoader("app.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page.filters |= {"seconds": q.seconds, "data": q.data, "percent": q.percent}
    return page.get_template(template).render(contents)
