"""A capacity planner: which GPU serves our network, how many of them, and for how much?

Run it as a script, or cell by cell in an editor that supports `# %%`.
"""

# %% The network is yours: any nn.Module, here a small recommender of two towers.
import torch
from torch import nn

from simulator import plan, predict


class TwoTowers(nn.Module):
    """Users and items become vectors; the score is their dot product."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.users = nn.EmbeddingBag(1_000_000, width)
        self.items = nn.EmbeddingBag(200_000, width)
        self.mix = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """The scores of (batch, 32) histories of users against (batch, 32) items."""
        return (self.mix(self.users(users)) * self.items(items)).sum(-1)


BATCH = 4096
with torch.device("meta"):  # no weights are needed
    network = TwoTowers()
histories = torch.empty(BATCH, 32, dtype=torch.int64, device="meta")

# %% Time, interval and memory of one step on the GPUs that we could rent, in USD an hour.
PRICES = {"l4": 0.80, "l40s": 1.80, "a100": 2.10, "h100": 3.00}
print(f"{'GPU':6} {'step':>10} {'80% interval':>22} {'peak memory':>12} {'USD / billion':>14}")
for gpu, usd_per_hour in PRICES.items():
    p = predict(network, (histories, histories), gpu=gpu)
    low, high = (1e3 * s for s in p.interval_s)
    usd = p.period_s / BATCH * 1e9 / 3600 * usd_per_hour
    print(
        f"{gpu:6} {1e3 * p.period_s:7.2f} ms {low:8.2f} to {high:6.2f} ms"
        f" {p.peak_memory_bytes / 1e9:9.1f} GB {usd:14.2f}   {p.regime}-bound"
    )

# %% A service with limits: the same question as `ridgepoint plan SPEC.toml`.
answer = plan(
    {
        "workload": {
            "kind": "inference",
            "network": "resnet50",
        },
        "load": {"rate": "5000/s"},
        "limits": {"latency": "50 ms"},
        "candidates": {"gpus": ["l4", "a100", "h100"], "engines": ["eager", "compiled+graph"]},
        "prices": {"hourly": {name: f"{PRICES[name]} USD/h" for name in ("l4", "a100", "h100")}},
    }
)
print(answer.verdict)
