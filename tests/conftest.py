"""Tests keep no traces in the user's cache, unless they name a folder, and see no GPUs of the
user's own."""

import os
import tempfile

os.environ.setdefault("RIDGEPOINT_TRACES", "off")
_CONFIG = tempfile.TemporaryDirectory(prefix="ridgepoint-tests-")
os.environ["XDG_CONFIG_HOME"] = _CONFIG.name
