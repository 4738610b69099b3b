"""Every view and canvas has the methods that its base declares abstract; Qt does not check it."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

from PySide6.QtWidgets import QWidget

import app.explorer
import app.views
from app.widgets.canvas import Canvas
from app.widgets.view import View


def _leaves(base: type[QWidget]) -> Iterator[type[QWidget]]:
    below = base.__subclasses__()
    for each in below:
        yield from _leaves(each)
    if not below:
        yield base


def test_no_class_without_subclasses_has_an_abstract_method() -> None:
    for package in (app.views, app.explorer):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    # other tests in this process may have classes of their own
    every = {*_leaves(View), *_leaves(Canvas)}
    leaves = {each for each in every if each.__module__.startswith("app.")}
    assert len(leaves) > 30
    abstract = {
        f"{each.__name__}.{name}"
        for each in leaves
        for name in dir(each)
        if getattr(getattr(each, name), "__isabstractmethod__", False)
    }
    assert not abstract
