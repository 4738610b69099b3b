"""The packaged requests of advice: every what-if that it tries is answered without torch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from simulator.analysis.trials import TRIALS
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario import packaged, trace_source
from simulator.scenario.packaged import Files, files_of, index
from simulator.scenario.packaged.contents import line_of, request_of
from simulator.scenario.packaged.fresh import calls_attention
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_module import trace_module
from simulator.symbols import Symbolic
from simulator.whatif import apply, parse

pytestmark = pytest.mark.skipif(
    not index.versions_agree(index.read_index()), reason="the files are of another Python or torch"
)
DTYPES = ("bf16", "fp16", "fp32", "autocast")


def files(request: TraceRequest, card: str) -> Files | None:
    return files_of(request, gpu(card), line_of(request.network))


def never(batch: int, seq: int) -> Trace:
    raise AssertionError("nothing is to be traced")


def families(request: TraceRequest, card: str) -> Symbolic:
    loaded = packaged.families(request, gpu(card), line_of(request.network), never)
    assert loaded is not None
    return loaded


def requests_of_advice(scenario: Scenario) -> dict[str, tuple[TraceRequest, str]]:
    """The request and the card of every what-if that applies, by its text."""
    dtype = resolve(scenario).request.dtype
    requests: dict[str, tuple[TraceRequest, str]] = {}
    for trial in TRIALS:
        if not trial.dtypes or dtype in trial.dtypes:
            try:
                resolved = resolve(apply(scenario, *parse(trial.text)))
            except InputError:
                continue
            requests[trial.text] = resolved.request, resolved.gpu.id
    return requests


def untraced(network: str) -> list[str]:
    """The trials of advice that no file covers, for every dtype and phase in which the network
    itself is packaged."""
    missing: list[str] = []
    for training in (False, True)[: 1 + CATALOGUE[network].trains]:
        for dtype in DTYPES:
            scenario = Scenario(network, dtype=dtype, training=training)
            if files(resolve(scenario).request, "h200") is not None:
                missing += [
                    f"{dtype} {training} {text}"
                    for text, (request, card) in requests_of_advice(scenario).items()
                    if files(request, card) is None
                ]
    return missing


@pytest.mark.layered(5)
@pytest.mark.parametrize("network", sorted(CATALOGUE))
def test_what_advice_tries_is_packaged(network: str) -> None:
    assert untraced(network) == []


def fresh(request: TraceRequest, card: str) -> Trace:
    trace_module(request, gpu(card))  # work that a process does only once is done here
    return trace_module(request, gpu(card))[0]


@pytest.mark.layered(5, daily=["gpt2-fp16-h100-more1-40", "vit-b16-bf16-h200-more3-None"])
@pytest.mark.parametrize(
    ("network", "dtype", "card", "more", "seq"),
    [
        ("gpt2", "bf16", "h200", {"optimizer": "sgd"}, 40),
        ("gpt2", "fp16", "h100", {"optimizer": "adamw_fused"}, 40),
        ("gpt2", "autocast", "h200", {"sdpa": "cudnn", "optimizer": None}, 40),
        ("vit-b16", "bf16", "h200", {"optimizer": "sgd"}, None),
        ("bert-base", "fp16", "h200", {"sdpa": "efficient"}, 33),
        ("mlp-tiny", "fp32", "mi300x", {"sdpa": "cudnn", "optimizer": "sgd"}, None),
        ("lstm", "bf16", "l40s", {}, 24),
    ],
)
def test_a_variant_gives_the_fresh_trace(
    network: str, dtype: str, card: str, more: dict[str, str | None], seq: int | None
) -> None:
    request = replace(request_of(network, dtype, True, **more), batch=5, seq=seq)
    ours, theirs = families(request, card).at(5, seq), fresh(request, card)
    assert (replace(ours, gpu=theirs.gpu) == theirs) is True


@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (7, 40)])
def test_a_kernel_that_refuses_says_what_a_trace_says(batch: int, seq: int) -> None:
    request = request_of("gpt2", "fp32", True, sdpa="cudnn")
    with pytest.raises(InputError, match=rf"queries \[{batch}, 12, {seq}, 64\]") as error:
        trace_module(replace(request, batch=batch, seq=seq), gpu("h200"))
    refused = families(request, "h200")
    for ask in (refused.at, refused.family):
        with pytest.raises(InputError, match=f"^{re.escape(str(error.value))}$"):
            ask(batch, seq)
    with pytest.raises(AssertionError, match="nothing is to be traced"):
        refused.at(1, 4096)  # beyond the last position, where tracing raises another error


@pytest.mark.parametrize(("batch", "seq"), [(1, 129), (3, 300), (2, 1024)])
def test_a_kernel_that_refuses_beyond_a_window_says_what_a_trace_says(batch: int, seq: int) -> None:
    request = request_of("gpt-oss-20b", "bf16", False, sdpa="flash")
    with pytest.raises(InputError, match=r"64, 256, 64\] in torch.bfloat16, masked") as error:
        trace_module(replace(request, batch=batch, seq=seq), gpu("h200"))
    with pytest.raises(InputError, match=f"^{re.escape(str(error.value))}$"):
        families(request, "h200").at(batch, seq)


@pytest.mark.parametrize("seq", [1, 2, 96, 128])
def test_a_kernel_that_refuses_beyond_a_window_is_traced_within_it(seq: int) -> None:
    refused = families(request_of("gpt-oss-20b", "bf16", False, sdpa="flash"), "h200")
    with pytest.raises(AssertionError, match="nothing is to be traced"):
        refused.at(2, seq)


def test_an_update_completes_only_the_families_that_it_was_compared_for() -> None:
    for more in ({"optimizer": "sgd"}, {"optimizer": "sgd", "sdpa": "cudnn"}):
        assert files(request_of("gpt2", "bf16", True, **more), "h200") is not None
    assert files(request_of("gpt2", "bf16", True), "a100") is not None
    assert files(request_of("gpt2", "bf16", True, optimizer="sgd"), "a100") is None


def test_an_optimizer_leaves_a_refusal_as_it_is() -> None:
    request = request_of("gpt2", "fp32", True, sdpa="flash", optimizer="sgd")
    with pytest.raises(InputError, match=r"^sdpa=flash: this kernel does not support"):
        families(request, "h200").at(2, 16)


def test_a_damaged_update_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of("gpt2", "bf16", True, optimizer="sgd")
    held = files(request, "h200")
    assert held is not None and held.update is not None
    for entry in held:
        assert entry is not None
        data = (index.FOLDER / entry.file).read_bytes()
        (tmp_path / entry.file).write_bytes(data[:-9] if entry is held.update else data)
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    args = request, gpu("h200"), line_of("gpt2")
    assert packaged.families(*args, never) is None


@pytest.mark.parametrize(("network", "calls"), [("gpt2", True), ("resnet18", False)])
def test_the_index_knows_which_networks_call_attention(network: str, calls: bool) -> None:
    request = request_of(network, "bf16", False)
    held = files(request, "h200")
    assert held is not None
    assert held.network.attention is calls is calls_attention(request, gpu("h200"))


def test_points_of_a_kernel_that_refuses_are_refused_without_a_trace() -> None:
    trace_source.forget()
    trace_source.trace_elsewhere()
    try:
        for batch in (2, 3, 64):
            scenario = apply(Scenario("gpt2", batch=batch, seq=32, dtype="fp32"), *parse("+sdpa"))
            resolved = resolve(scenario)
            for ask in (trace_source.family, trace_source.trace_resolved):
                with pytest.raises(InputError, match=rf"queries \[{batch}, 12, 32, 64\]"):
                    ask(resolved)
    finally:
        trace_source.trace_elsewhere(False)
        trace_source.forget()
