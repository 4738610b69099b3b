"""Networks as users write them run and trace; the second suites are drawn by a hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibration.cases.case import Case, Step
from calibration.cases.networks.layer_stacks import LAYERS
from calibration.cases.networks.own.networks import OWN
from calibration.cases.networks.packages import SIZED
from calibration.cases.networks.packages_fourth import SIZED_FOURTH
from calibration.cases.networks.packages_second import SIZED_SECOND
from calibration.cases.networks.packages_third import SIZED_THIRD
from calibration.cases.steps.own import OWN_CASES, OWN_COMPILED
from calibration.cases.steps.own_fifth import OWN_FIFTH, OWN_FIFTH_COMPILED
from calibration.cases.steps.own_fourth import OWN_FOURTH, OWN_FOURTH_COMPILED
from calibration.cases.steps.own_second import OWN_SECOND, OWN_SECOND_COMPILED
from calibration.cases.steps.packages_fourth import PACKAGES_FOURTH
from calibration.cases.steps.packages_second import PACKAGES_SECOND, PACKAGES_SECOND_COMPILED
from calibration.cases.steps.packages_third import PACKAGES_THIRD, PACKAGES_THIRD_COMPILED
from calibration.measure.host_threads import STACKED
from calibration.outcome import Outcome
from calibration.record.read import MEASUREMENTS, Recording
from calibration.stored_predictions import write
from calibration.validate.packages import DEFAULT, Before, before, compared, measured, modes
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.errors import InputError

QUICK = {"own-ppo": 1, "own-tabular": 1, "own-moe-loop": 8, "own-graph": 8, "own-seq2seq": 4,
         "own-factorized": 1, "own-vae": 1, "own-dqn": 1, "own-kan": 1, "own-tcn": 64,
         "own-crf": 4, "own-gat": 16, "own-linear-attention": 64,
         "own-state-space": 32, "own-soft-actor-critic": 1, "own-waves": 1, "own-molecules": 1,
         "own-real-nvp": 1, "own-isomorphism": 1, "own-basis-series": 1, "own-action-diffusion": 16,
         "own-capsules": 1, "own-heartbeats": 512, "own-autocorrelation": 1}  # fmt: skip


@pytest.mark.parametrize("phase", ["inference", "training"])
@pytest.mark.parametrize("network", QUICK)
def test_own_networks_run_and_are_predicted(network: str, phase: str) -> None:
    case = Case(network, "fp32", phase, 2, QUICK[network], "sgd" if phase == "training" else None)
    Step(case, "cpu")()
    assert predict_trace(retrace(case.record())).kernel_count > 5


def test_every_own_network_is_in_one_set_of_suites() -> None:
    suites = (
        (*OWN_CASES, *OWN_COMPILED),
        (*OWN_SECOND, *OWN_SECOND_COMPILED),
        (*OWN_FOURTH, *OWN_FOURTH_COMPILED),
        (*OWN_FIFTH, *OWN_FIFTH_COMPILED),
    )
    networks = [{case.network for case in cases} for cases in suites]
    assert set().union(*networks) == set(OWN) and sum(map(len, networks)) == len(OWN)
    assert len({case.name for case in OWN_CASES}) == len(OWN_CASES) == 32
    assert len({case.name for case in OWN_SECOND}) == len(OWN_SECOND) == 44
    assert len({case.name for case in OWN_FOURTH}) == len(OWN_FOURTH) == 41
    assert len({case.name for case in OWN_FIFTH}) == len(OWN_FIFTH) == 39


def test_the_second_suite_shares_no_network_with_the_first() -> None:
    assert set(SIZED).isdisjoint(SIZED_SECOND)
    phases = [case.phase for case in PACKAGES_SECOND]
    assert (phases.count("inference"), phases.count("training")) == (len(SIZED_SECOND), 11)
    assert {case.network for case in PACKAGES_SECOND} == set(SIZED_SECOND)
    assert len(PACKAGES_SECOND_COMPILED) == 12


def test_the_third_suite_shares_four_networks_with_the_others() -> None:
    shared = {"resnext50_32x4d", "hrnet_w18", "maxvit_tiny_tf_224", "densenet121"}
    assert set(SIZED_THIRD) & {*SIZED, *SIZED_SECOND} == {f"timm:{name}" for name in shared}
    phases = [case.phase for case in PACKAGES_THIRD]
    assert (phases.count("inference"), phases.count("training")) == (32, 7)
    assert {case.network for case in PACKAGES_THIRD} == set(SIZED_THIRD)
    assert len(PACKAGES_THIRD_COMPILED) == 16


def test_the_fourth_suite_was_predicted_before_it_was_measured() -> None:
    assert set(SIZED_FOURTH).isdisjoint({*SIZED, *SIZED_SECOND, *SIZED_THIRD})
    phases = [case.phase for case in PACKAGES_FOURTH]
    assert (phases.count("inference"), phases.count("training")) == (len(SIZED_FOURTH), 16)
    assert {case.network for case in PACKAGES_FOURTH} == set(SIZED_FOURTH)
    predicted = {name for name, _ in before(MEASUREMENTS / "h100_sxm/predicted_fourth.jsonl.gz")}
    measured_names = set(measured("packages_fourth", "h100_sxm"))
    assert len(measured_names) == 56 and measured_names < predicted


def test_every_step_of_the_fifth_own_suite_has_a_stored_prediction() -> None:
    stored = before(MEASUREMENTS / "h200_sxm/predicted_own_fifth.jsonl.gz")
    cases = (*OWN_FIFTH, *OWN_FIFTH_COMPILED)
    assert set(stored) == {(case.name, mode) for case in cases for mode in modes(case)}
    assert len(OWN_FIFTH_COMPILED) == 21 and len(stored) == 39 + 21 + 20  # 20 CUDA graphs
    assert all(0.2e-3 < p.period_s < 65e-3 for p in stored.values())


def test_every_stack_has_a_call_of_each_of_its_layers() -> None:
    trained = [case for case in STACKED if case.phase == "training"]
    assert {case.network for case in trained} == {f"stack-{kind}" for kind in LAYERS} - {
        "stack-relu"
    }
    for case in trained[::3]:
        assert len(retrace(case.record()).ops) >= 2 * 40  # forward and backward


def test_a_stored_prediction_is_compared_like_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl.gz"
    row = {"case": "net", "mode": "eager", "period_s": 2.0, "interval_s": [1.0, 3.0]}
    write(path, [{**row, "gpu_busy_s": 1.0, "kernels": 9}, {"case": "b", "failed": "InputError"}])
    stored = before(path)
    assert stored == {("net", "eager"): Before(2.0, (1.0, 3.0), 1.0, 9)}
    step = Recording({"name": "net", "phase": "inference"}, [], 4.0, 0.0, 4.0, 2.0, 10, 0, 0, None)
    group = "eager inference, host-bound, default host"
    assert list(compared(step, "eager", {DEFAULT: stored["net", "eager"]})) == [
        Outcome("net", group, "period", 0.5, False, measured_s=4.0),
        Outcome("net", "eager", "GPU busy", 0.5),
        Outcome("net", "eager", "kernels", 0.9),
    ]


def test_a_file_without_predictions_says_so(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    write(path, [{"case": "b", "mode": "eager", "failed": "InputError"}])
    with pytest.raises(InputError) as raised:
        before(path)
    assert str(raised.value) == (
        f"{path}: holds no predicted step; expected a file written with --write"
    )
