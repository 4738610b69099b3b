"""Packaged families: their answers, their code version, and that they equal fresh traces."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.answers.plan.draft import first
from app.lessons import packaged as lessons
from simulator.analysis.sweep import axis
from simulator.errors import InputError, UntracedError
from simulator.hardware.gpu import gpu, gpus
from simulator.hardware.host import host
from simulator.planning import plan
from simulator.records import Trace
from simulator.scenario import packaged, trace_source
from simulator.scenario.gpu_class import traced_properties
from simulator.scenario.packaged import contents, index
from simulator.scenario.packaged.contents import (
    CARDS,
    card_of,
    line_of,
    name_of,
    omission,
    requests,
)
from simulator.scenario.packaged.index import (
    FOLDER,
    read_index,
    stamp,
    versions_agree,
)
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_module import trace_module
from simulator.schedule.launch_plan import issued
from simulator.simulate.family import Drive, at_points
from simulator.simulate.step_columns import COLUMNS
from simulator.simulate.traces import Step, simulated
from simulator.symbols.refusals import Refused
from simulator.timing.profile import learned

traced_by_these_versions = pytest.mark.skipif(
    not versions_agree(read_index()), reason="the files are of another Python or torch"
)
"""Traces count the interpreter's instructions, which differ between versions of Python."""
NAMES = {f"{name_of(request)}.{card}": (request, card) for request, card in requests()}


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    trace_source.forget()
    yield
    trace_source.trace_elsewhere(False)
    trace_source.forget()


def packaged_families(request: TraceRequest, card: str) -> Any:
    def tracer(batch: int, seq: int) -> Trace:
        raise AssertionError("nothing is to be traced")

    return packaged.families(request, gpu(card), line_of(request.network), tracer)


def fresh(request: TraceRequest, card: str) -> Trace:
    trace_module(request, gpu(card))  # work that a process does only once is done here
    return trace_module(request, gpu(card))[0]


def same(ours: Trace, theirs: Trace) -> bool:
    return replace(ours, gpu=theirs.gpu) == theirs


def test_every_file_is_of_this_code():
    """If the code that traces a network changes, this fails until `python -m
    simulator.scenario.packaged` has compared the files with fresh traces or rewritten them."""
    held = read_index()
    stale = [
        name
        for name, entry in held.entries.items()
        if entry.stamp != stamp(NAMES[name][0].network, held.torch, held.python)
    ]
    assert stale == []


def test_the_files_are_those_of_the_index_and_small():
    held = read_index().entries
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert set(files) == {entry.file for entry in held.values()}
    assert set(held) <= set(NAMES)
    assert not [name for name in held if omission(name)]
    assert sum(files.values()) < 10 * 2**20


@pytest.mark.parametrize(
    "name",
    [
        f"{network}.{dtype}.{phase}.h200"
        for network in ("bert-base", "gpt2", "resnet50", "vit-b16")
        for phase, dtypes in (("inference", "bf16 fp16 fp32 autocast"), ("training", "bf16 fp32"))
        for dtype in dtypes.split()
    ],
)
def test_the_usual_networks_are_packaged(name: str):
    assert packaged_families(*NAMES[name]) is not None


@pytest.mark.layered(5)
@traced_by_these_versions
@pytest.mark.parametrize(
    ("name", "batch", "seq"),
    [
        ("bert-base.fp16.inference.h200", 37, 333),
        ("gpt2.bf16.inference.h200", 3, 96),
        ("resnet50.bf16.training.h200", 21, None),
        ("mlp-tiny.fp32.inference.h200", 5, None),
    ],
)
def test_a_packaged_family_gives_the_fresh_trace(name: str, batch: int, seq: int | None):
    request, card = NAMES[name]
    ours = packaged_families(request, card).at(batch, seq)
    assert same(ours, fresh(replace(request, batch=batch, seq=seq), card)) is True


@traced_by_these_versions
@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("convnet-tiny.fp32.inference.h200", 37),
        ("vit-b16.bf16.training.h200", 3),
    ],
)
def test_a_packaged_family_takes_the_time_of_the_fresh_trace(name: str, batch: int):
    """Both networks call ops inside other ops: the bias of a convolution, and copies in its
    backward pass.
    """
    request, card = NAMES[name]
    trace = fresh(replace(request, batch=batch), card)
    there, profile = gpu(card), learned(card)
    assert issued(trace, there).lowered.inner_ops.any()
    expected, _ = simulated([Step(trace, there, host(), profile, "eager")])
    family = packaged_families(request, card).families[0][1]
    [(figures, _)] = at_points(family, [batch], [1], there, profile, [Drive(host(), "eager")])
    place = COLUMNS.index("host_s")
    assert figures[0, place] == expected[0, place]
    assert figures[0, 0] == pytest.approx(expected[0, 0], rel=1e-12)


@pytest.mark.slow
@traced_by_these_versions
@pytest.mark.parametrize("name", sorted(read_index().entries))
def test_every_packaged_family_gives_fresh_traces(name: str):
    """At points of each cell that no fit used."""
    request, card = NAMES[name]
    families = packaged_families(request, card)
    if isinstance(families, Refused):
        batch, seq = families.cells[-1][0].points(9)[-1]
        at = replace(request, batch=batch, seq=seq if families.has_seq else None)
        with pytest.raises(InputError) as error:
            fresh(at, card)
        with pytest.raises(InputError, match=f"^{re.escape(str(error.value))}$"):
            families.at(batch, at.seq)
        return
    for cell, _ in families.families:
        batch, seq = cell.points(9)[-1]
        at = replace(request, batch=batch, seq=seq if families.has_seq else None)
        assert same(families.at(batch, at.seq), fresh(at, card)) is True


def test_other_requests_are_not_answered():
    request = resolve(Scenario("gpt2", dtype="fp16")).request
    assert packaged_families(request, "h200") is not None
    for other in (
        replace(request, sizes=(("layers", 3),)),
        replace(request, frozen=("layers.*",)),
        replace(request, data_sizes=(("nonzero", 3),)),
        replace(request, network="nets.py:make"),
        replace(request, training=True, optimizer="sgd", frozen=("h.*",)),
        replace(request, sdpa="math"),
        replace(request, dtype="autocast-fp16"),
    ):
        assert packaged.families(other, gpu("h200"), line_of("gpt2"), pytest.fail) is None


def test_a_file_of_other_code_is_not_used(monkeypatch: pytest.MonkeyPatch):
    request = resolve(Scenario("gpt2", dtype="fp16")).request
    monkeypatch.setattr(index, "_digest_of_tracing", lambda: "other code")
    assert packaged_families(request, "h200") is None


@pytest.mark.parametrize(
    ("torch", "python", "answers"),
    [
        ("2.13", "3.11", True),
        ("2.12", "3.11", False),
        ("2.13", "3.12", False),
        (None, "3.12", True),  # no fresh trace exists that could differ
    ],
)
def test_versions_that_would_trace_otherwise_trace(
    monkeypatch: pytest.MonkeyPatch, torch: str | None, python: str, answers: bool
):
    assert (read_index().torch, read_index().python) == ("2.13", "3.11")
    monkeypatch.setattr(index, "torch_version", lambda: torch)
    monkeypatch.setattr(index, "python_version", lambda: python)
    request = resolve(Scenario("gpt2", dtype="fp16")).request
    assert (packaged_families(request, "h200") is not None) is answers


def test_a_damaged_file_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    request = resolve(Scenario("gpt2", dtype="fp16")).request
    name = read_index().entries[f"{name_of(request)}.h200"].file
    (tmp_path / name).write_bytes((FOLDER / name).read_bytes()[:-9])
    monkeypatch.setattr(packaged, "FOLDER", tmp_path)
    assert packaged_families(replace(request, batch=None, seq=None), "h200") is None


def test_a_gpu_takes_the_files_of_its_class():
    for network in ("bert-base", "lstm"):
        for card in gpus():
            kind = card_of(network, card)
            assert kind is None or traced_properties(network, card) == traced_properties(
                network, gpu(kind)
            )
    assert [card_of("bert-base", gpu(name)) for name in ("h100", "b200", "l4", "t4", "mi300x")] == [
        "h200",
        "h200",
        "a100",
        "v100_sxm2_32",
        "mi300x",
    ]
    assert card_of("lstm", gpu("l4")) is None  # its trace depends on the number of units
    assert set(CARDS) == {card for _, card in requests()}


def test_every_request_has_its_own_name():
    listed = [(request, card) for request, card in requests()]
    assert len(NAMES) == len(listed)
    assert contents.OMITTED and all(contents.OMITTED.values())


def test_every_scenario_of_the_lessons_is_packaged():
    """Except scenarios over several GPUs, whose ranks are traced in a separate process."""
    trace_source.trace_elsewhere()
    for lesson in lessons():
        scenarios = [side.scenario for side in lesson.sides if not side.cluster]
        if lesson.line is not None:
            along = axis(scenarios[0], lesson.line.name)
            scenarios += [along.at(scenarios[0], value) for value in lesson.line.values]
        for scenario in scenarios:
            resolved = resolve(scenario)
            try:
                trace_source.trace_unedited(resolved.request, resolved.gpu)
            except UntracedError as need:
                raise AssertionError(f"{lesson.name}: {need.request}") from None


COMMANDS = (
    "predict bert-base --gpu t4",
    "predict gpt2 --train --dtype bf16",
    "whatif bert-base +cuda_graph",
    "sweep resnet50 --over batch=1,2,4",
    "compare resnet50 vit-b16",
    "advise gpt2 --train --dtype autocast",
    "advise lstm",
)


@traced_by_these_versions
def test_commands_on_packaged_networks_do_not_import_torch():
    code = (
        "import sys\nfrom app.cli import app\n"
        "for command in sys.argv[1:]:\n"
        "    app(command.split(), standalone_mode=False)\n"
        "    if 'torch' in sys.modules:\n"
        "        sys.exit('torch after: ' + command)\n"
    )
    environment = os.environ | {"RIDGEPOINT_TRACES": "off", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", code, *COMMANDS], capture_output=True, env=environment, timeout=300
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")


@pytest.mark.layered(5, daily=["b200", "mi300x", "rtx4090", "v100_sxm2_32"])
@pytest.mark.parametrize("card", CARDS)
def test_the_explorers_first_plan_is_packaged(card: str):
    trace_source.trace_elsewhere()
    quick = first().put([card], "candidates", "gpus").put(50, "simulation", "requests")
    rows = plan(quick.spec).rows
    assert {row.engine for row in rows} == {"vllm", "eager"}
