"""Fixtures for tests of networks."""

from typing import Any

import pytest

from simulator import InputError
from simulator.networks.loading.load import load


def refused(spec: str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        load(spec, **options)
    return str(caught.value)
