"""Copies the scenario or the plan as a command line, or as a link to share."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from app.explorer.window.pages.pages import CLUSTER, PLAN
from simulator.planning.spec_link import spec_link
from simulator.scenario.text.command import as_command
from simulator.scenario.text.link import scenario_link

if TYPE_CHECKING:
    from app.explorer.window.window import Window


def copy_command(window: Window) -> None:
    """Copy the command line of what the page shows: the current scenario, the scenario on the
    cluster, or the plan as a link."""
    state = window.session.state

    def copy() -> None:
        if state.workspace == CLUSTER:
            text, of = window.pages.cluster.command, "the cluster"
        elif state.workspace == PLAN:
            words = ["ridgepoint", "plan", spec_link(window.pages.plan.text)]
            text, of = shlex.join(words), "the plan"
        else:
            text, of = as_command(state.scenario), "the scenario"
        QGuiApplication.clipboard().setText(text)
        window.status.say(f"Copied the command line of {of}")

    window.opening.attempt(copy)


def copy_link(window: Window) -> None:
    """Copy the link of the current scenario, or of the plan if its page is shown."""
    state = window.session.state

    def copy() -> None:
        on_plan = state.workspace == PLAN
        kind = "plan" if on_plan else "scenario"
        address = spec_link(window.pages.plan.text) if on_plan else scenario_link(state.scenario)
        QGuiApplication.clipboard().setText(address)
        window.banner.say(
            f"Copied the link of the {kind}, {len(address)} characters; File → Open link … opens "
            "it",
            about="file",
            wrong=False,
            copied=True,
        )

    window.opening.attempt(copy)
