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


RANK = """
import sys
from simulator.cluster.layout import Layout
from simulator.cluster.step import NetworkStep
from simulator.hardware.gpu import gpu
from simulator.tracing.parallel.networks import program
from simulator.tracing.parallel.program import trace_plain_rank, trace_rank
step = NetworkStep("gpt2", batch=1, seq=64, training=True, sizes={"layers": 2})
question = program(step, Layout(1, tp=2)), 0, 2, gpu("h100"), 2
traces = []
for trace in (trace_plain_rank, trace_rank):
    traces.append(trace(*question))
    print("torch._dynamo" in sys.modules, "torch.distributed.tensor" in sys.modules)
print(traces[0] == traces[1])
"""


def test_a_rank_without_fsdp_does_not_import_dynamo() -> None:
    done = subprocess.run([sys.executable, "-c", RANK], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\nTrue True\nTrue\n"
