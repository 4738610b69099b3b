"""Why the real scheduler gave no answer."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818  # an answer, not a fault
    """The real scheduler cannot answer; the message says why, in words for a user."""
