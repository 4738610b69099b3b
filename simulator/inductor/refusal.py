"""Why the real scheduler gave no answer."""

from __future__ import annotations


class RefusalError(Exception):
    """The real scheduler cannot answer; the message says why, in words for a user."""
