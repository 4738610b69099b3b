"""Networks for tables, graphs and games as users write them by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calibration.cases.networks.own.network import Own, tokens
from simulator.networks.output import Output


class Graph(Own):
    """A graph network: each node averages the messages along its incoming edges."""

    def __init__(self, width: int = 128, layers: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.edge, self.head = nn.Linear(8, width), nn.Linear(width, 40)
        self.width = width

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        nodes, edges = batch * seq, 8 * batch * seq
        ends = tokens(2, edges, nodes)
        return self.random(nodes, self.width), ends, self.random(edges, 8)

    def forward(self, x: Tensor, ends: Tensor, features: Tensor) -> Any:
        source, target = ends
        degree = torch.zeros(len(x), 1, dtype=x.dtype, device=x.device)
        degree.scatter_add_(0, target[:, None], torch.ones_like(features[:, :1]))
        for layer in self.layers:
            message = F.relu(x[source] + self.edge(features).to(x.dtype))
            summed = torch.zeros_like(x).index_add_(0, target, message)
            x = F.relu(layer(torch.cat([x, summed / degree.clamp(min=1)], -1))).to(x.dtype)
        return self.result(F.log_softmax(self.head(x), -1))


class PPO(Own):
    """An actor and a critic with the clipped policy loss of PPO."""

    def __init__(self, observed: int = 64, actions: int = 8, width: int = 256) -> None:
        super().__init__()
        self.observed, self.actions = observed, actions
        sizes = (observed, width, width)
        self.actor, self.critic = (
            nn.Sequential(nn.Linear(sizes[0], sizes[1]), nn.Tanh(), nn.Linear(*sizes[1:]),
                          nn.Tanh(), nn.Linear(width, out)) for out in (actions, 1)
        )  # fmt: skip
        self.log_std = nn.Parameter(torch.zeros(actions))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        each = (self.random(batch) for _ in range(3))
        return self.random(batch, self.observed), self.random(batch, self.actions), *each

    def forward(self, x: Tensor, action: Tensor, old: Tensor, gain: Tensor, goal: Tensor) -> Any:
        mean, value = self.actor(x), self.critic(x).squeeze(-1)
        spread = self.log_std.exp()
        log_p = -0.5 * ((action - mean) / spread) ** 2 - self.log_std - 0.9189
        log_p = log_p.sum(-1)
        if not self.training:
            return log_p, value
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        ratio = torch.exp((log_p - old).clamp(-5, 5))
        policy = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        entropy = self.log_std.sum()
        return Output(mean, policy + 0.5 * F.mse_loss(value, goal) - 0.01 * entropy)


class Atari(Own):
    """A deep Q-network for Atari: the value of each action, learned with a target network and
    Huber's loss."""

    def __init__(self, actions: int = 18) -> None:
        super().__init__()
        self.online, self.target = (self.network(actions) for _ in range(2))
        self.target.requires_grad_(False)

    @staticmethod
    def network(actions: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
            nn.Linear(512, actions),
        )  # fmt: skip

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        state, after = (torch.randint(0, 256, (batch, 4, 84, 84), dtype=torch.uint8) for _ in "ab")
        return state, after, torch.randint(0, 18, (batch,)), self.random(batch)

    def forward(self, state: Tensor, after: Tensor, action: Tensor, reward: Tensor) -> Any:
        values = self.online(state.to(reward.dtype) / 255)
        if not self.training:
            return values.argmax(1)
        with torch.no_grad():
            goal = reward + 0.99 * self.target(after.to(reward.dtype) / 255).amax(1)
        taken = values.gather(1, action[:, None]).squeeze(1)
        return Output(values, F.smooth_l1_loss(taken, goal))


class Factorized(Own):
    """A recommender: the rating is the product of a user's and a film's embedding, plus biases."""

    def __init__(self, users: int = 200_000, films: int = 50_000, width: int = 64) -> None:
        super().__init__()
        self.sizes = (users, films)
        self.user, self.film = nn.Embedding(users, width), nn.Embedding(films, width)
        self.user_bias, self.film_bias = nn.Embedding(users, 1), nn.Embedding(films, 1)

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        users, films = (torch.randint(0, n, (batch,)) for n in self.sizes)
        return users, films, self.random(batch)

    def forward(self, users: Tensor, films: Tensor, rating: Tensor) -> Any:
        out = (self.user(users) * self.film(films)).sum(1)
        out = out + self.user_bias(users).squeeze(1) + self.film_bias(films).squeeze(1)
        return self.result(out, F.mse_loss(out.sigmoid() * 5, rating))


class Tabular(Own):
    """An MLP on table rows: categories are embedded, numbers go through a batch norm."""

    def __init__(self, width: int = 512) -> None:
        super().__init__()
        counts = (12, 31, 7, 100, 1000, 24, 50, 3)
        self.categories = nn.ModuleList(nn.Embedding(n, min(50, n // 2 + 1)) for n in counts)
        joined = 20 + sum(each.embedding_dim for each in self.categories)  # pyright: ignore
        self.norm, layers = nn.BatchNorm1d(20), list[nn.Module]()
        for a, b in ((joined, width), (width, width), (width, width // 2)):
            layers += [nn.Linear(int(a), b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.1)]  # pyright: ignore
        self.mlp = nn.Sequential(*layers, nn.Linear(width // 2, 1))

    def example_inputs(self, batch: int, seq: int, training: bool = False) -> tuple[Tensor, ...]:
        return tokens(batch, 8, 3), self.random(batch, 20)

    def forward(self, kinds: Tensor, numbers: Tensor) -> Any:
        parts = [embed(kinds[:, i]) for i, embed in enumerate(self.categories)]
        return self.result(self.mlp(torch.cat([*parts, self.norm(numbers)], 1)))


TABLES: dict[str, type[Own]] = {
    "graph": Graph,
    "ppo": PPO,
    "dqn": Atari,
    "factorized": Factorized,
    "tabular": Tabular,
}
"""The networks by name."""
