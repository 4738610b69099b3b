"""Benchmarks of the speed of answers, with numpy configured as in the app."""

import app as app
