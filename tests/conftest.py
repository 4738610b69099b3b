"""Tests keep no traces in the user's cache, unless they name a folder."""

import os

os.environ.setdefault("RIDGEPOINT_TRACES", "off")
