"""What-ifs: decorated pure functions from scenario to scenario.

Importing this package registers every group. May import scenario and its dependencies;
`scenario.registry` holds the what-ifs.
"""

from simulator.scenario.apply import apply, whatif
from simulator.scenario.parameters import Parameter
from simulator.scenario.registry import GROUPS, WhatIf, whatifs
from simulator.scenario.text.whatif import parse, to_text
from simulator.whatif import hardware, kernels, launch, precision, shape, training

_MODULES = (precision, shape, kernels, launch, hardware, training)

__all__ = ["GROUPS", "Parameter", "WhatIf", "apply", "parse", "to_text", "whatif", "whatifs"]
