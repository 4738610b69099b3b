"""The options that commands share: the scenario, and with `written` the files to write.

    @expanded
    def advise(question: Question, written: Written, top: int = 12) -> None: ...

A parameter of type Question or Written stands for a group of options; `expanded` gives typer a
function with those options in its place. The help is built from this module, so heavy modules are
imported when a command runs.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from app.commands.option_types import (
    Batch,
    DataSizes,
    Dtype,
    Gpu,
    Host,
    HostMode,
    Mode,
    Network,
    NoSandbox,
    Optimizer,
    OptimizerName,
    Precision,
    ScenarioFile,
    Seq,
    Sizes,
    StatedCosts,
    TimeLimit,
    Train,
    WhatIfs,
)
from app.commands.written import written
from simulator.errors import InputError
from simulator.formats.link import is_link, parts
from simulator.isolated import ISOLATION
from simulator.networks.loading.watching import DEFAULT_LIMIT_S, WATCH, Watch

if TYPE_CHECKING:
    from simulator.scenario.scenario import Scenario


@dataclass(frozen=True)
class Question:
    """A scenario before the what-ifs of the command line, and these what-ifs."""

    base: Scenario
    changes: tuple[str, ...] = ()

    @property
    def scenario(self) -> Scenario:
        """The scenario with all changes. Raises InputError if a change does not apply."""
        return changed(self.base, self.changes)


def changed(scenario: Scenario, texts: tuple[str, ...]) -> Scenario:
    """Apply what-ifs, written as on the command line."""
    if not texts:
        return scenario
    from simulator.whatif import apply, parse

    for text in texts:
        scenario = apply(scenario, *parse(text))
    return scenario


def whatif_words(text: str) -> tuple[str, ...]:
    """Split the value of `--with`, such as "+cuda_graph +precision=fp16", into what-ifs."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(
            f"--with {text!r}: {error}: expected what-ifs; close the quotation"
        ) from None
    wrong = next((word for word in words if not word.startswith("+")), None)
    if not words or wrong is not None:
        problem = f"{wrong!r} has no +" if wrong else "is empty"
        raise InputError(f'--with {text!r}: {problem}: expected what-ifs, such as "+cuda_graph"')
    return words


def question(
    network: Network = None,
    whatifs: WhatIfs = None,
    scenario: ScenarioFile = None,
    gpu: Gpu = None,
    host: Host = None,
    batch: Batch = None,
    seq: Seq = None,
    dtype: Precision = None,
    train: Train = None,
    optimizer: OptimizerName = None,
    mode: HostMode = None,
    size: Sizes = None,
    data_size: DataSizes = None,
    op: StatedCosts = None,
    time_limit: TimeLimit = DEFAULT_LIMIT_S,
    no_sandbox: NoSandbox = False,
) -> Question:
    """Build the question from the shared options."""
    WATCH.set(Watch(time_limit))
    if no_sandbox:
        ISOLATION.end()
    words = [word for word in (network, *(whatifs or [])) if word is not None]
    names = [word for word in words if not word.startswith("+")]
    if scenario is None and names and is_link(names[0]):
        scenario = names.pop(0)
    fields = options(gpu, host, batch, seq, dtype, train, optimizer, mode, size, data_size, op)
    if scenario is None and not names:
        raise InputError(
            "no network: expected a NETWORK, such as bert-base, or --scenario FILE; "
            "`ridgepoint networks` lists them"
        )
    if scenario is not None and names:
        raise InputError(
            f"{names[0]!r} and --scenario {scenario} are both given: expected one; remove the other"
            + _missing_plus(names[0])
        )
    if len(names) > 1:
        raise InputError(
            f"{names[1]!r} after the network {names[0]!r}: expected one network, then what-ifs "
            f"such as +cuda_graph; remove it{_missing_plus(names[1])}"
        )
    base = fields.override(scenario) if scenario is not None else fields.scenario(names[0])
    return Question(base, tuple(word for word in words if word.startswith("+")))


@dataclass(frozen=True)
class Opening(Question):
    """What the explorer opens first: the scenario of the options, or BERT-base if they name no
    network. If `file` is not empty, it is opened next; it is the path of a session, a scenario or a
    plan, or the link of a plan."""

    file: str = ""


def opening(**options: Any) -> Opening:
    """Build the question from the shared options; BERT-base if they name no network."""
    given: list[str | None] = [options["network"], *(options["whatifs"] or [])]
    words = [word for word in given if word is not None]
    first = _path(words[0]) if words else ""
    file = first if _opens_in_window(first) else ""
    if file:
        beside = [n for n in options if n not in ("network", "time_limit", "no_sandbox")]
        more = [name for name in beside if options[name] not in (None, [])]
        if more:
            option = "what-ifs" if more[0] == "whatifs" else f"--{more[0].replace('_', '-')}"
            raise InputError(
                f"{file} and {option} are both given: expected the file alone; change it in the "
                "window"
            )
        options, words = options | {"network": None}, []
    if options["scenario"] is None and all(word.startswith("+") for word in words):
        usual = {"network": "bert-base", "batch": 64, "seq": 128, "dtype": Dtype.bf16}
        options |= {name: value for name, value in usual.items() if options[name] is None}
        options |= {"network": "bert-base", "whatifs": words}
    command = question(**options)
    return Opening(command.base, command.changes, file)


def _path(word: str) -> str:
    """The path of a file URL, which a desktop may pass; any other word unchanged."""
    return unquote(word.removeprefix("file://")) if word.startswith("file://") else word


def _opens_in_window(word: str) -> bool:
    """Whether a word is a file or a link that only the explorer opens."""
    return word.lower().endswith((".ridge", ".toml")) or (
        is_link(word) and parts(word)[0] == "plan"
    )


opening.__signature__ = inspect.signature(question, eval_str=True)  # pyright: ignore


def _missing_plus(word: str) -> str:
    from simulator.whatif import whatifs

    name = word.partition("=")[0].replace("-", "_")
    return f", or write +{word}" if name in {w.name for w in whatifs()} else ""


@dataclass(frozen=True)
class Options:
    """The options that the command line sets, as fields of a scenario."""

    fields: dict[str, Any]

    def scenario(self, network: str) -> Scenario:
        """Build the scenario of a network."""
        from simulator.scenario.scenario import Scenario

        return Scenario(network, **self.fields)

    def override(self, path: str) -> Scenario:
        """Load a scenario from a file or a link and override its fields with these options."""
        import_module("simulator.whatif")  # registers the what-ifs that the scenario names
        from simulator.scenario.scenario import load

        scenario = load(path)
        fields = dict(self.fields)
        for name in ("sizes", "data_sizes"):
            if name in fields:
                fields[name] = {**getattr(scenario, name), **fields[name]}
        return replace(scenario, **fields)


def options(
    gpu: str | None,
    host: str | None,
    batch: int | None,
    seq: int | None,
    dtype: Dtype | None,
    train: bool | None,
    optimizer: Optimizer | None,
    mode: Mode | None,
    size: list[str] | None,
    data_size: list[str] | None,
    op: list[str] | None,
) -> Options:
    """Collect the options that are set, as fields of a scenario."""
    from app.answers.stated_costs import stated_costs
    from app.answers.subject import data_sizes, sizes

    fields = {
        "gpu": gpu,
        "host": host,
        "batch": batch,
        "seq": seq,
        "dtype": dtype and dtype.value,
        "training": train,
        "optimizer": optimizer and optimizer.value,
        "mode": mode and mode.value,
        "sizes": sizes(size or []) or None,
        "data_sizes": data_sizes(data_size or []) | stated_costs(op or []) or None,
    }
    return Options({name: value for name, value in fields.items() if value is not None})


_GROUPS: dict[str, Callable[..., Any]] = {
    "Question": question,
    "Opening": opening,
    "Written": written,
}


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of type Question or Written with its options."""
    own = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
    shown: list[inspect.Parameter] = []
    for parameter in own:
        build = _GROUPS.get(getattr(parameter.annotation, "__name__", ""))
        if build is None:
            shown.append(parameter)
            continue
        options = list(inspect.signature(build, eval_str=True).parameters.values())
        groups[parameter.name] = (build, tuple(option.name for option in options))
        shown += options

    @wraps(command)
    def run(**values: Any) -> None:
        built = {
            name: build(**{option: values.pop(option) for option in options})
            for name, (build, options) in groups.items()
        }
        command(**built, **values)

    plain = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature([p.replace(kind=plain) for p in shown])  # pyright: ignore
    run.__annotations__ = {}
    del run.__wrapped__  # pyright: ignore[reportAttributeAccessIssue]
    return run
