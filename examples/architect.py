"""An architect: what limits my network, and what would change it?

Run it as a script, or cell by cell in an editor that supports `# %%`.
"""

# %% Your own network, eager, under CUDA graphs and under torch.compile.
import torch
from torch import nn

from simulator import predict
from simulator.analysis.advice import advise
from simulator.analysis.regimes import next_shift
from simulator.analysis.sweep import sweep
from simulator.scenario.scenario import Scenario


def step_of(batch: int, mode: str = "eager", dtype: torch.dtype = torch.bfloat16) -> float:
    """Milliseconds of a training step of a decoder layer of width 1024 over 256 tokens."""
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(1024, 16, batch_first=True, dtype=dtype)
        tokens = torch.empty(batch, 256, 1024, dtype=dtype)
    return 1e3 * predict(layer, (tokens,), gpu="a100", phase="training", mode=mode).period_s


for batch in (1, 8, 64):
    eager, graph, compiled = (step_of(batch, m) for m in ("eager", "cuda_graph", "compiled"))
    print(f"batch {batch:3}: eager {eager:6.2f} ms, graph {graph:6.2f}, compiled {compiled:6.2f}")

# %% Where the regime changes: below this batch the host is the limit, and faster kernels change
# nothing.
gpt2 = Scenario("gpt2", gpu="a100", dtype="autocast", training=True, batch=1, seq=128)
print(next_shift(gpt2, "batch").sentence)

# %% Every what-if that applies, ranked by the time that it saves end to end.
for advice in advise(gpt2).advice[:5]:
    print(f"{advice.gain:6.1%}  {advice.command}")

# %% A table over two axes, as columns: ready for pandas or a plot.
table = sweep(gpt2, {"batch": (1, 4, 16, 64), "gpu": ("a100", "h100")})
for point, period_s in zip(table.points, table.columns["period_s"], strict=True):
    print(f"batch {point['batch']:3} on {point['gpu']}: {1e3 * period_s:7.2f} ms")
