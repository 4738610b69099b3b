import pytest

from simulator.cluster import cluster
from simulator.cluster.layout import Layout, layout
from simulator.errors import InputError


def test_dp_uses_the_remaining_gpus():
    eight = cluster("8xh200")
    assert layout("fsdp", eight) == Layout(8, 1, 1, True)
    assert layout("tp=2", eight) == Layout(4, 2, 1, False)
    assert layout("dp=2 tp=2 pp=2 fsdp", eight) == Layout(2, 2, 2, True)


def test_a_layout_of_a_pipeline():
    parsed = layout("pp=4 microbatches=8 schedule=interleaved bucket=50", cluster("8xh200"))
    assert parsed == Layout(2, 1, 4, False, 8, "interleaved", 2, 50 * 2**20)
    assert str(parsed) == ("dp=2 pp=4 ddp microbatches=8 schedule=interleaved chunks=2 bucket=50")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dp=3", "dp·tp·pp = 3·1·1 = 3, but 8xh200 has 8 GPUs"),
        ("tp=16", "1·16·1 = 16"),
        ("cp=2", "'cp=2': expected degrees"),
        ("tp=0", "'tp=0': expected degrees"),
        ("fsdp ddp", "'ddp': expected degrees"),
        ("schedule=zb", "'schedule=zb': expected degrees"),
        ("pp=2 chunks=2", "chunks=2 without schedule=interleaved: expected chunks"),
    ],
)
def test_bad_layouts(text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        layout(text, cluster("8xh200"))
