"""The errors of the commands of what-ifs."""

import pytest

from app.commands.options import whatif_words
from simulator.errors import InputError
from tests.app.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["whatif", "mlp-tiny"], "no what-ifs: expected some after the network, such as "
         "+cuda_graph or +precision=fp16; `ridgepoint whatifs` lists them"),
        (["whatif", "mlp-tiny", "+bandwidth=0"],
         "bandwidth: times is 0: expected 0.1 to 10; correct it"),
        (["whatif", "mlp-tiny", "+fp8", "--gpu", "a100"], "fp8: A100 SXM4 80GB has no float8 "
         "tensor cores: expected a GPU that has them (Ada, Hopper or later); choose another GPU, "
         "or precision=fp16"),
        (["whatifs", "bandwith"],
         "unknown what-if 'bandwith': did you mean 'bandwidth' or 'l2_bandwidth'?"),
        (["compare", "mlp-tiny"],
         '1 scenario: expected 2 to 4: files, networks, or --with "+cuda_graph"; add some'),
        (["compare", *["mlp-tiny"] * 5],
         '5 scenarios: expected 2 to 4: files, networks, or --with "+cuda_graph"; remove some'),
        (["compare", "+cuda_graph"],
         "+cuda_graph comes first: expected a network or a scenario file before it; add one"),
        (["compare", "--with", "+cuda_graph"],
         "--with without a scenario: expected a scenario to vary; name a network or a file"),
        (["compare", "mlp-tiny", "--with", "cuda_graph"],
         "--with 'cuda_graph': 'cuda_graph' has no +: expected what-ifs, such as \"+cuda_graph\""),
        (["compare", "mlp-tiny", "nope.toml"],
         "cannot read the scenario nope.toml: No such file or directory: expected a readable file; "
         "check the path"),
        (["sweep", "mlp-tiny", "--over", "batch=0"], "axis 'batch=0': 0: expected 1 to "
         "2,147,483,647; correct it"),
        (["map", "mlp-tiny", "--x", "batch", "--y", "batch=1"],
         "a map of batch by batch: expected two different axes; choose another"),
        (["seek", "mlp-tiny", "--latency", "soon"],
         "--latency 'soon': expected a time above 0, such as 20ms or 0.5s"),
        (["seek", "mlp-tiny", "--latency", "5"],
         "--latency '5' has no unit: expected a time such as 20ms or 0.5s; write 5ms or 5s"),
        (["seek", "mlp-tiny", "--latency", "0"],
         "--latency '0': expected a time above 0, such as 20ms or 0.5s"),
        (["seek", "mlp-tiny", "--throughput", "-3"],
         "--throughput '-3': expected samples per second above 0, such as 5000 or 5k"),
        (["seek", "mlp-tiny", "--save-scenario", "x.toml"], "--save-scenario with 4 goals: "
         "expected one goal, whose answer is saved; name it"),
        (["advise", "mlp-tiny", "--price", "a100=-1"],
         "--price 'a100=-1': expected USD per hour above 0, such as 2.5 or a100=1.8"),
        (["advise", "mlp-tiny", "--by", "money"],
         "advice by money: H200 SXM 141GB has no price: expected USD an hour; give it with "
         "--price, or as price_usd in a GPU file of your own, or rank by time"),
        (["advise", "mlp-tiny", "--png", "-"],
         "--png -: expected a file name, because a picture needs a file; add one"),
        (["advise", "mlp-tiny", "--png", "a.svg"],
         "--png a.svg: ends in .svg: expected .png; use --svg, or rename it"),
    ],
)  # fmt: skip
def test_errors_end_with_one_message(run: Run, arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr == f"error: {text}\n" and result.stdout == ""


def test_a_quote_that_is_not_closed() -> None:
    with pytest.raises(InputError, match="No closing quotation: expected what-ifs; close the"):
        whatif_words("+size='x")
