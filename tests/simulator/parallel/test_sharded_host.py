"""The host's work and the memory of sharded tensors, and the host of several ranks."""

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor

from simulator import predict_step
from simulator.hardware.host import host

WIDTH, LAYERS = 256, 4
ONE = host().slower(1.0)  # without the factor for several ranks


def fsdp(rank, world_size):
    mesh = init_device_mesh("cuda", (world_size,))
    net = nn.Sequential(*(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))).cuda()
    for layer in net:
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters())
    x = torch.randn(8, WIDTH, device="cuda")

    def step():
        net(x).float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def test_unsharded_weights_take_memory_while_they_exist():
    trace = predict_step(fsdp, "2xh200").ranks[0].trace
    weight_bytes = WIDTH * WIDTH * 4
    gathers = [
        i for i, op in enumerate(trace.ops) if op.name == "fsdp.split_with_sizes_copy.default"
    ]
    lives = [
        (s.born, s.freed)
        for s in trace.storages
        if s.nbytes == weight_bytes and any(s.born <= i for i in gathers) and s.born >= 0
    ]
    # the gather writes one of the storages that are born before it and freed after it
    for place in gathers:
        assert any(born <= place < (freed or len(trace.ops)) for born, freed in lives)
    # every layer's weight is freed after its forward pass; the last one is freed again after its
    # backward pass
    assert all(freed is not None for _, freed in lives)
    assert len(lives) >= len(gathers) >= 2 * LAYERS - 1


def test_arguments_count_once_and_results_three_times():
    def make(rank, world_size):
        mesh = init_device_mesh("cuda", (world_size,))
        x = distribute_tensor(torch.randn(64, 64, device="cuda"), mesh, [Shard(0)])

        def step():
            x.add_(x)
            x.mul(x)

        return step

    ops = predict_step(make, "2xh200").ranks[0].trace.ops
    counted = {op.name: op.wrapped for op in ops if op.wrapped}
    assert counted == {"aten.add_.Tensor": 2, "aten.mul.Tensor": 2 + 3}


def test_all_of_the_hosts_work_is_done_at_its_speed():
    quick, slow = (predict_step(fsdp, "2xh200", host=ONE.slower(times)) for times in (1.0, 2.0))
    assert slow.ranks[0].host_s == pytest.approx(2 * quick.ranks[0].host_s, rel=1e-9)


def test_the_default_host_of_two_ranks_is_the_slower_of_two():
    one, two = predict_step(fsdp, "2xh200", host=ONE), predict_step(fsdp, "2xh200")
    assert two.ranks[0].host_s == pytest.approx(1.06 * one.ranks[0].host_s, rel=1e-9)
    assert one.notes == ()
    assert two.notes == (
        "the host takes 1.06 times as long as for one GPU, because 2 ranks wait for their slowest "
        "host; this is part of the step time",
    )
