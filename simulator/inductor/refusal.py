"""Why Inductor's scheduler gives no answer."""

from __future__ import annotations


class RefusalError(Exception):
    """Inductor's scheduler cannot schedule a step; the message is for users."""
