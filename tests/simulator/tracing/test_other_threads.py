"""Steps that start threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Thread, getprofile

import pytest
import torch
from torch import Tensor, nn

from simulator.errors import InputError
from simulator.tracing import trace

X = torch.zeros(2, 8)


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        with ThreadPoolExecutor(1) as pool:
            return self.layer(pool.submit(lambda: x.relu()).result())


class Counting(Pooled):
    """Its thread computes no tensor of the network."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: list[float] = []

    def forward(self, x: Tensor) -> Tensor:
        counter = Thread(target=lambda: self.sums.append(sum(range(10))))
        counter.start()
        counter.join()
        return self.layer(x)


def test_an_op_in_another_thread_is_refused() -> None:
    with pytest.raises(InputError) as error:
        trace(Pooled(), (X,))
    assert str(error.value) == (
        "the step runs the op relu in another thread (test_other_threads.py, line 25), and only "
        "ops of the thread that calls the network are recorded: expected a step in one thread; "
        "call the layers without threads"
    )
    assert getprofile() is None


def test_a_thread_without_ops_of_the_network_is_allowed() -> None:
    names = [op.name for op in trace(Counting(), (X,)).ops]
    assert names == ["aten.t.default", "aten.addmm.default"]


def test_a_thread_that_outlives_the_step_is_not_followed_further() -> None:
    pool = ThreadPoolExecutor(1)

    class Outliving(Counting):
        def forward(self, x: Tensor) -> Tensor:
            pool.submit(sum, [1]).result()
            return super().forward(x)

    assert len(trace(Outliving(), (X,)).ops) == 2
    with pool:
        meta = torch.zeros(2, device="meta")
        assert pool.submit(lambda: (meta + 1).is_meta).result()
    assert len(trace(Counting(), (X,)).ops) == 2
