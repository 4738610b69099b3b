"""Inference and training are traced without importing Dynamo, and leave torch as it was."""

import subprocess
import sys

CODE = """
import sys, torch
from simulator.tracing import trace
network = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
for phase in ("inference", "training"):
    trace(network, (torch.rand(4, 8),), phase=phase)
print("torch._dynamo" in sys.modules, "_dynamo" in vars(torch))
"""


def test_a_trace_does_not_import_dynamo() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
