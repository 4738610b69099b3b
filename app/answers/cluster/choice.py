"""The cluster of a session, the split of a step over it, and the question about both."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.answers.answer import batch_and_seq
from simulator.cluster import cluster as find_cluster
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout, layout
from simulator.cluster.modes import check_mode
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.scenario.resolve import check, gpu_of
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.command import as_command

if TYPE_CHECKING:
    from simulator.parallel.whatifs import ClusterStep

_GPUS = 8


@dataclass(frozen=True)
class ClusterChoice:
    """A cluster by name, the degrees of data, tensor and pipeline parallelism, whether weights are
    sharded over the replicas, and further options of `--parallel`."""

    cluster: str
    dp: int = 1
    tp: int = 1
    pp: int = 1
    fsdp: bool = False
    more: str = ""

    @property
    def parallel(self) -> str:
        """The text of `--parallel`."""
        degrees = [f"{name}={n}" for name in ("dp", "tp", "pp") if (n := getattr(self, name)) > 1]
        sharding = ["fsdp" if self.fsdp else "ddp"] if self.dp > 1 else []
        return " ".join([*(degrees or ["dp=1"]), *sharding, *self.more.split()])

    @property
    def machine(self) -> Cluster:
        """The cluster. Raises InputError if the name is unknown or the file is invalid."""
        return find_cluster(self.cluster)

    @property
    def layout(self) -> Layout:
        """The layout without what-ifs. Raises InputError if it does not suit the cluster."""
        words = [word for word in self.parallel.split() if not word.startswith("+")]
        return layout(" ".join(words), self.machine)

    def on(self, cluster: str) -> ClusterChoice:
        """The choice on another cluster, filled with replicas. Raises InputError if the cluster is
        unknown."""
        return replace(self, cluster=cluster)._filled(find_cluster(cluster).gpus)

    def of_gpu(self, gpu: str) -> ClusterChoice:
        """The choice on one node with the same number of GPUs of another kind. Raises InputError
        for a cluster of several nodes, because its network is specific to its GPUs."""
        machine = self.machine
        if gpu == machine.gpu.id:
            return self
        if machine.nodes > 1:
            raise InputError(
                f"{self.cluster} has {machine.nodes} nodes of {machine.gpu.name}, linked by their "
                f"own network: expected a single node for {gpu}; choose a cluster of one node, or "
                "write a cluster file"
            )
        return self.on(f"{machine.gpus}x{gpu}")

    def of_degree(self, name: str, value: int) -> ClusterChoice:
        """The choice with another degree of tensor or pipeline parallelism; the number of replicas
        follows from the number of GPUs."""
        changed = replace(self, **{name: value})
        if name == "dp":
            return changed
        try:
            return changed._filled(self.machine.gpus)
        except InputError:
            return changed

    def _filled(self, gpus: int) -> ClusterChoice:
        dp, rest = divmod(gpus, self.tp * self.pp)
        return self if rest or not dp else replace(self, dp=dp)


def chosen(scenario: Scenario, cluster: str, parallel: str) -> ClusterChoice:
    """Parse the texts of `--cluster` and `--parallel` for a scenario. Raises InputError if they do
    not suit the cluster, or if the scenario cannot be spread."""
    words = parallel.split()
    machine = find_cluster(cluster)
    spread = layout(" ".join(word for word in words if not word.startswith("+")), machine)
    _check_alone(scenario, machine, cluster)
    named = ("dp", "tp", "pp", "ddp", "fsdp")
    more = " ".join(word for word in words if word.partition("=")[0] not in named)
    return ClusterChoice(cluster, spread.dp, spread.tp, spread.pp, spread.fsdp, more)


_WORDS = {"schedule=2": "schedule=interleaved", "recompute=1": "recompute"}
_LAYOUT = ("microbatches", "bucket")


def with_what_if(choice: ClusterChoice, text: str) -> ClusterChoice:
    """The choice under a what-if of `simulator.parallel.whatifs`, written as an option of
    `--parallel` if there is one."""
    name, _, value = text.partition("=")
    if name == "fsdp":
        return replace(choice, fsdp=value == "1")
    word = _WORDS.get(text, text if name in _LAYOUT else f"+{text}")
    others = [
        each for each in choice.more.split() if each.removeprefix("+").partition("=")[0] != name
    ]
    return replace(choice, more=" ".join([*others, word]))


def first(scenario: Scenario) -> ClusterChoice:
    """The initial choice: a node of eight of the scenario's GPUs, or of eight H200s if the GPU has
    edited figures."""
    named = "h200" if isinstance(scenario.gpu, Mapping) else scenario.gpu
    name = f"{_GPUS}x{named}"
    try:
        find_cluster(name)
    except InputError:
        name = f"{_GPUS}xh200"
    return ClusterChoice(name, dp=_GPUS)


def _check_alone(scenario: Scenario, machine: Cluster, cluster: str) -> None:
    """Raise InputError if an option of the scenario applies to one GPU only."""
    if scenario.whatifs:
        raise InputError(
            f"+{scenario.whatifs[0].name} with --cluster: expected no such what-if, because it "
            "applies to one GPU only; remove it"
        )
    if scenario.trace_file is not None:
        raise InputError(
            f"{scenario.network} with --cluster: expected a network, because a saved trace covers "
            "one GPU; name the network instead"
        )
    for name, count in scenario.data_sizes.items():
        raise InputError(
            f"--data-size {name}={count} with --cluster: expected no such option, because it "
            "applies to one GPU only; remove it"
        )
    check(scenario)
    if scenario.gpu != Scenario.gpu and gpu_of(scenario.gpu).id != machine.gpu.id:
        raise InputError(
            f"GPU {gpu_of(scenario.gpu).id} with --cluster {cluster}, whose GPUs are "
            f"{machine.gpu.id}: expected the same GPU; leave the GPU out, or name another cluster"
        )


def replica_words(scenario: Scenario) -> str:
    """The batch of each replica, "batch 128 a replica", or an empty string if it is unknown."""
    batch, _ = batch_and_seq(scenario)
    return "" if batch is None else f"batch {batch:,} a replica"


def parallel_question(scenario: Scenario, cluster: str, parallel: str) -> ClusterStep:
    """The step of a network under a layout and its what-ifs, "dp=2 tp=4 +link_speed=2"."""
    words = parallel.split()
    machine = find_cluster(cluster)
    _check_alone(scenario, machine, cluster)
    plain = " ".join(word for word in words if not word.startswith("+"))
    spread = layout(plain, machine)
    check_mode(scenario.mode)
    # the explorer starts without the modules that predict several GPUs
    from simulator.parallel.whatifs import ClusterStep, changed

    training = bool(scenario.training)
    optimizer = scenario.optimizer or "adamw"
    step = NetworkStep(
        scenario.network,
        scenario.batch,
        scenario.seq,
        scenario.dtype or "fp32",
        training,
        None if optimizer == "none" else optimizer,
        scenario.sizes,
    )
    question = ClusterStep(step, spread, machine, scenario.host, scenario.mode)
    for word in words:
        if word.startswith("+"):
            question = changed(question, word[1:])
    return question


@dataclass(frozen=True)
class ClusterQuestion:
    """A scenario, a cluster whose GPUs replace the scenario's own, and the split."""

    scenario: Scenario
    choice: ClusterChoice

    @property
    def step(self) -> ClusterStep:
        """The step. Raises InputError if it cannot be predicted on several GPUs."""
        return parallel_question(self._without_gpu, self.choice.cluster, self.choice.parallel)

    def check(self) -> None:
        """Raise InputError if the layout or the mode cannot be predicted, without a trace."""
        _ = self.choice.layout
        check_mode(self.scenario.mode)

    @property
    def command(self) -> str:
        """The command line of the same prediction. Raises InputError if no option expresses it."""
        where = shlex.join(["--cluster", self.choice.cluster, "--parallel", self.choice.parallel])
        return f"{as_command(self._without_gpu)} {where}"

    @property
    def _without_gpu(self) -> Scenario:
        return replace(self.scenario, gpu=Scenario.gpu)


@dataclass(frozen=True)
class AnswerQuestion:
    """A question that is answered by figures only, without scaling and what-ifs."""

    question: ClusterQuestion
