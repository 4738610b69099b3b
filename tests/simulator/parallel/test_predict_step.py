import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from simulator import predict, predict_step
from simulator.errors import InputError

WIDTH = 1024


class Net(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def step_of(net, batch=64):
    optimizer = torch.optim.AdamW(net.parameters())
    x = torch.randn(batch, WIDTH, device="cuda")

    def step():
        net(x).float().pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def ddp(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    torch.cuda.set_device(rank)
    net = DistributedDataParallel(Net().cuda(), device_ids=[rank], gradient_as_bucket_view=True)
    return step_of(net)


def fsdp(rank, world_size):
    mesh = init_device_mesh("cuda", (world_size,))
    net = Net().cuda()
    for layer in net.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    return step_of(net)


def collectives(rank):
    return [op.collective for op in rank.trace.ops if op.collective is not None]


def test_ddp_reduces_its_buckets_on_a_stream_of_their_own():
    p = predict_step(ddp, "2xh200")
    (rank,) = p.ranks
    assert rank.ranks == (0, 1)
    issued = collectives(rank)
    # a first bucket of at least 1 MiB, then one bucket with the rest: 4·(1024² + 1024)·4 bytes in
    # total
    assert [c.kind for c in issued] == ["all_reduce"] * 2
    assert sum(c.message_bytes for c in issued) == 4 * (1024**2 + 1024) * 4
    assert {op.stream for op in rank.trace.ops if op.collective} != {0}
    assert issued[0].where.startswith("test_predict_step.py, line ")
    assert not rank.unmodelled


def test_fsdp_gathers_forward_and_backward_and_scatters_gradients():
    p = predict_step(fsdp, "2xh200")
    kinds = [c.kind for c in collectives(p.ranks[0])]
    # four layers are gathered twice, but the last one stays gathered until the backward pass of the
    # root
    assert kinds.count("reduce_scatter") == 4
    assert kinds.count("all_gather") in (7, 8)
    one = predict_step(lambda rank, world_size: step_of(Net().cuda()), "1xh200")
    assert p.peak_memory_bytes < one.peak_memory_bytes


@pytest.mark.parametrize("make", [ddp, fsdp])
def test_shares_sum_to_one_and_the_period_lies_in_its_interval(make):
    p = predict_step(make, "2xh200")
    assert sum(p.shares.values()) == pytest.approx(1.0)
    assert set(p.shares) == {"compute", "memory", "overhead", "communication"}
    low, high = p.interval_s
    assert low < p.period_s < high
    assert p.exposed_communication_s <= p.communication_s * (1 + 1e-9)


def test_one_gpu_agrees_with_predict():
    p = predict_step(lambda rank, world_size: step_of(Net().cuda()), "1xh200")
    q = predict(Net(), (torch.randn(64, WIDTH),), phase="training")
    assert [op.name for op in p.ranks[0].trace.ops] == [op.name for op in q.trace.ops]
    assert p.period_s == pytest.approx(q.period_s, rel=0.03)
    assert p.peak_memory_bytes == pytest.approx(q.peak_memory_bytes, rel=0.01)
    assert p.shares["communication"] == 0.0


def test_a_large_all_reduce_is_communication():
    def make(rank, world_size):
        x = torch.randn(2**28, device="cuda")
        return lambda: dist.all_reduce(x)

    p = predict_step(make, "2xh200")
    assert p.regime == "communication"
    assert p.shares["communication"] == pytest.approx(1.0, abs=0.02)
    assert p.exposed_communication_s == pytest.approx(p.communication_s)


def test_an_asynchronous_collective_hides_behind_a_product():
    def make(overlapped):
        def program(rank, world_size):
            x = torch.randn(2**26, device="cuda")
            a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

            def step():
                work = dist.all_reduce(x, async_op=overlapped)
                a @ a
                a @ a
                if overlapped:
                    work.wait()
                x.mul_(0.5)

            return step

        return program

    hidden = predict_step(make(True), "2xh200")
    alone = predict_step(make(False), "2xh200")
    assert hidden.period_s < alone.period_s
    assert hidden.exposed_communication_s < 0.2 * alone.exposed_communication_s


def test_messages_wait_for_the_other_rank():
    def make(rank, world_size):
        x = torch.randn(2**20, device="cuda")
        a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)

        def step():
            if rank == 0:
                for _ in range(20):
                    a @ a
                dist.send(x, 1)
            else:
                dist.recv(x, 0)

        return step

    p = predict_step(make, "2xh200")
    assert [rank.ranks for rank in p.ranks] == [(0,), (1,)]
    assert p.ranks[1].waiting_s > 10 * p.ranks[0].waiting_s


def test_a_deadlock_names_both_lines():
    def make(rank, world_size):
        x = torch.randn(1024, device="cuda")

        def step():
            if rank == 0:
                dist.all_reduce(x)
            else:
                dist.broadcast(x, 0)

        return step

    with pytest.raises(InputError) as caught:
        predict_step(make, "2xh200")
    text = str(caught.value)
    assert text.startswith("deadlock: collective number 0 of the group of ranks 0, 1 is all_reduce")
    assert text.count("test_predict_step.py, line ") == 2


def test_a_message_without_a_receiver_does_not_hang():
    def make(rank, world_size):
        x = torch.randn(1024, device="cuda")
        return lambda: dist.send(x, 1) if rank == 0 else None

    with pytest.raises(InputError, match="waits forever"):
        predict_step(make, "2xh200")


def test_errors_of_the_program_name_its_line():
    def make(rank, world_size):
        raise ValueError("no data set")

    with pytest.raises(
        InputError,
        match=r"rank 0: make\(rank, world_size\) failed: ValueError: "
        r"no data set \(test_predict_step.py, line \d+\)",
    ):
        predict_step(make, "2xh200")
    with pytest.raises(InputError, match="returned int: expected a callable"):
        predict_step(lambda rank, world_size: 3, "2xh200")
    with pytest.raises(InputError, match="mode 'compiled' on several GPUs"):
        predict_step(ddp, "2xh200", mode="compiled")
    assert not dist.is_initialized()


def test_weights_of_a_truncated_normal_distribution_do_not_hang():
    """Since torch 2.13 such weights are drawn until all are in range."""

    def make(rank, world_size):
        net = Net(1).cuda()
        nn.init.trunc_normal_(net.layers[0].weight, std=0.02)
        return step_of(net)

    assert predict_step(make, "2xh200").period_s > 0
