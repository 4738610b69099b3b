"""The error raised for a step that Inductor's scheduler cannot schedule."""

from __future__ import annotations


class RefusalError(Exception):
    """Inductor's scheduler cannot schedule a step; the message is for users."""
