"""A teacher: three questions to ask the class before the answer is shown.

Run it as a script, or cell by cell in an editor that supports `# %%`. `ridgepoint explore` poses
such questions in a window, under Lessons.
"""

# %% 1. "A GPU does 989 TFLOP/s. How long does it take to add 1 to a million numbers?"
import torch
from torch import nn

from simulator import predict


class AddOne(nn.Module):
    """x + 1."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x + 1, of any shape."""
        return x + 1


for numbers in (10**3, 10**6, 10**9):
    p = predict(AddOne(), (torch.empty(numbers, device="meta"),), gpu="h100")
    print(f"{numbers:13,} numbers: {1e6 * p.period_s:9.1f} µs, {p.regime}-bound")

# %% 2. "Twice the width is four times the work. When does a layer take four times as long?"
before = None
for width in (256, 512, 1024, 2048, 4096, 8192):
    layer = nn.Linear(width, width, device="meta", dtype=torch.bfloat16)
    p = predict(layer, (torch.empty(2048, width, device="meta", dtype=torch.bfloat16),), gpu="h100")
    times = "" if before is None else f"{p.period_s / before:4.1f} times the one before"
    print(f"width {width:5}: {1e6 * p.period_s:7.1f} µs, {p.regime}-bound  {times}")
    before = p.period_s


# %% 3. "torch.compile fuses a chain of 16 cosines into one kernel. How much faster is it?"
class Cosines(nn.Module):
    """cos(cos(… x))."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Sixteen cosines of x, of any shape."""
        for _ in range(16):
            x = x.cos()
        return x


x = torch.empty(2**26, device="meta")
seconds = {m: predict(Cosines(), (x,), gpu="h100", mode=m).period_s for m in ("eager", "compiled")}
print(f"eager {1e3 * seconds['eager']:.2f} ms, compiled {1e3 * seconds['compiled']:.2f} ms:")
print(f"{seconds['eager'] / seconds['compiled']:.1f} times faster, by reading and writing x once")
