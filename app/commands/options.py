"""The options that commands share: what is asked, and where the answer goes.

    @expanded
    def advise(asked: Question, written: Written, top: int = 12) -> None: ...

A parameter of type Question or Written stands for a group of options; `expanded` gives typer a
function with those options in its place. Nothing heavy is imported here: help is built from it.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulator.errors import InputError
from simulator.networks.watching import DEFAULT_LIMIT_S, WATCH, Watch

if TYPE_CHECKING:
    from simulator.scenario.scenario import Scenario


class Dtype(StrEnum):
    """Precisions; "autocast" keeps fp32 weights and computes in bf16."""

    fp32 = "fp32"
    bf16 = "bf16"
    fp16 = "fp16"
    autocast = "autocast"
    autocast_fp16 = "autocast-fp16"


class Optimizer(StrEnum):
    """Optimizers whose step can be predicted."""

    adamw = "adamw"
    adamw_fused = "adamw_fused"
    sgd = "sgd"
    none = "none"


class Mode(StrEnum):
    """How the host drives the GPU; the last three are modes of torch.compile."""

    eager = "eager"
    cuda_graph = "cuda_graph"
    compiled = "compiled"
    reduce_overhead = "reduce-overhead"
    max_autotune = "max-autotune"
    max_autotune_no_cudagraphs = "max-autotune-no-cudagraphs"


class ThemeName(StrEnum):
    """The looks of a picture."""

    dark = "dark"
    light = "light"


_NETWORK = (
    "A name (`ridgepoint networks`), file.py:factory, hf:folder, timm:name, or a saved trace."
)
Network = Annotated[str | None, typer.Argument(metavar="NETWORK", help=_NETWORK)]
WhatIfs = Annotated[
    list[str] | None,
    typer.Argument(metavar="+WHAT-IF", help="Changes, in order (`ridgepoint whatifs`)."),
]
ScenarioFile = Annotated[
    str | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help="A saved scenario; options given beside it take the place of its own.",
    ),
]
SaveScenario = Annotated[
    str | None, typer.Option("--save-scenario", metavar="FILE|-", help="Keep the question (TOML).")
]
Gpu = Annotated[
    str | None, typer.Option(help="A name (`ridgepoint gpus`) or a TOML file.", show_default="h200")
]
Host = Annotated[str | None, typer.Option(help="A host (`ridgepoint hosts`).")]
Batch = Annotated[int | None, typer.Option(help="Samples a step.", show_default="the network's")]
Seq = Annotated[int | None, typer.Option(help="Tokens a sample.", show_default="the network's")]


def dtype_of(text: str) -> Dtype:
    """A precision by its name. BadParameter for another, which says where tf32 is asked for."""
    if text in list(Dtype):
        return Dtype(text)
    known = ", ".join(Dtype)
    hint = "; tf32 is a what-if on fp32: write +precision=tf32" if text == "tf32" else ""
    raise typer.BadParameter(f"{text!r}: expected one of {known}{hint}")


Precision = Annotated[
    Dtype | None,
    typer.Option("--dtype", parser=dtype_of, metavar=f"[{'|'.join(Dtype)}]", show_default="fp32"),
]
Train = Annotated[
    bool | None,
    typer.Option("--train/--no-train", help="Training or inference.", show_default="no-train"),
]
OptimizerName = Annotated[Optimizer | None, typer.Option("--optimizer", show_default="adamw")]
Driven = Annotated[
    Mode | None,
    typer.Option(
        "--mode",
        help="How the host drives the GPU; compiled is torch.compile, the last three its modes.",
        show_default="eager",
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="NAME=VALUE", help="A size of the network: 512, 2,2,6,2, true."),
]
DataSizes = Annotated[
    list[str] | None,
    typer.Option(
        "--data-size", metavar="OP=N", help="What a data-dependent op gives: nonzero=640."
    ),
]
TimeLimit = Annotated[
    float,
    typer.Option("--time-limit", min=0, metavar="SECONDS", help="How long one trace may take."),
]
With = Annotated[
    list[str] | None,
    typer.Option("--with", metavar='"+WHAT-IF…"', help="A variant: the same with these what-ifs."),
]
Top = Annotated[int, typer.Option(min=1, help="Rows in each table.")]


@dataclass(frozen=True)
class Question:
    """What was asked: a scenario before the changes of the command line, and these changes."""

    base: Scenario
    changes: tuple[str, ...] = ()

    @property
    def scenario(self) -> Scenario:
        """With all changes applied. InputError, with the reason, for one that cannot be."""
        return changed(self.base, self.changes)


def changed(scenario: Scenario, texts: tuple[str, ...]) -> Scenario:
    """The scenario with what-ifs as commands write them."""
    from simulator.whatif import apply, parse

    for text in texts:
        scenario = apply(scenario, *parse(text))
    return scenario


def whatif_words(text: str) -> tuple[str, ...]:
    """The what-ifs of `--with "+cuda_graph +precision=fp16"`."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--with {text!r}: {error}: expected what-ifs; close the quote") from None
    wrong = next((word for word in words if not word.startswith("+")), None)
    if not words or wrong is not None:
        came = f"{wrong!r} has no +" if wrong else "is empty"
        raise InputError(f'--with {text!r}: {came}: expected what-ifs, such as "+cuda_graph"')
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
    mode: Driven = None,
    size: Sizes = None,
    data_size: DataSizes = None,
    time_limit: TimeLimit = DEFAULT_LIMIT_S,
) -> Question:
    """What the shared options ask."""
    WATCH.set(Watch(time_limit))
    words = [word for word in (network, *(whatifs or [])) if word is not None]
    names = [word for word in words if not word.startswith("+")]
    given = options(gpu, host, batch, seq, dtype, train, optimizer, mode, size, data_size)
    if scenario is None and not names:
        raise InputError(
            "no network: expected a NETWORK, such as bert-base, or --scenario FILE; "
            "`ridgepoint networks` lists them"
        )
    if scenario is not None and names:
        raise InputError(
            f"{names[0]!r} and --scenario {scenario} both: expected one of them; leave one out"
            + _missing_plus(names[0])
        )
    if len(names) > 1:
        raise InputError(
            f"{names[1]!r} after the network {names[0]!r}: expected one network, then what-ifs "
            f"such as +cuda_graph; remove it{_missing_plus(names[1])}"
        )
    base = given.applied(scenario) if scenario is not None else given.of(names[0])
    return Question(base, tuple(word for word in words if word.startswith("+")))


class Opening(Question):
    """What the explorer opens with: as asked, or BERT-base where no network is named."""


def opening(**given: Any) -> Question:
    """What the shared options ask; the first example where they name no network."""
    words = [word for word in (given["network"], *(given["whatifs"] or [])) if word is not None]
    if given["scenario"] is None and all(word.startswith("+") for word in words):
        first = {"network": "bert-base", "batch": 64, "seq": 128, "dtype": Dtype.bf16}
        given |= {name: value for name, value in first.items() if given[name] is None}
        given |= {"network": "bert-base", "whatifs": words}
    return question(**given)


opening.__signature__ = inspect.signature(question, eval_str=True)  # pyright: ignore


def _missing_plus(word: str) -> str:
    from simulator.whatif import whatifs

    name = word.partition("=")[0].replace("-", "_")
    return f", or write +{word}" if name in {w.name for w in whatifs()} else ""


@dataclass(frozen=True)
class Options:
    """The options of a scenario that were given; the others are None or empty."""

    fields: dict[str, Any]

    def of(self, network: str) -> Scenario:
        """The scenario of a network."""
        from simulator.scenario.scenario import Scenario

        return Scenario(network, **self.fields)

    def applied(self, path: str) -> Scenario:
        """The scenario of a file with these options in place of its own."""
        from simulator.scenario.scenario import load

        found = load(path)
        fields = dict(self.fields)
        for name in ("sizes", "data_sizes"):
            if name in fields:
                fields[name] = {**getattr(found, name), **fields[name]}
        return replace(found, **fields)


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
) -> Options:
    """The options that were given, as fields of a scenario."""
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
        "data_sizes": data_sizes(data_size or []) or None,
    }
    return Options({name: value for name, value in fields.items() if value is not None})


@dataclass(frozen=True)
class Written:
    """Where an answer goes, each None where it does not."""

    json: str | None = None
    csv: str | None = None
    png: str | None = None
    svg: str | None = None
    theme: str = "dark"

    def check(self, **others: str | None) -> None:
        """Can all of it be written? Asked before the work starts; InputError where it cannot."""
        from app import outputs

        texts = {"--json": self.json, "--csv": self.csv}
        texts |= {f"--{name.replace('_', '-')}": path for name, path in others.items()}
        pictures = {"--png": self.png, "--svg": self.svg}
        outputs.check_all(texts, pictures)
        if any(pictures.values()):
            from app.plots import need_qt

            need_qt()

    @property
    def printed(self) -> bool:
        """True where standard output is left for the tables."""
        return "-" not in (self.json, self.csv)


def written(
    json: Annotated[str | None, typer.Option(metavar="FILE|-", help="Write it all.")] = None,
    csv: Annotated[str | None, typer.Option(metavar="FILE|-", help="One row a result.")] = None,
    png: Annotated[str | None, typer.Option(metavar="FILE", help="A picture.")] = None,
    svg: Annotated[str | None, typer.Option(metavar="FILE", help="A picture to scale.")] = None,
    theme: Annotated[ThemeName, typer.Option(help="The picture's.")] = ThemeName.dark,
) -> Written:
    """Where the shared options send the answer."""
    return Written(json, csv, png, svg, theme.value)


_GROUPS: dict[str, Callable[..., Any]] = {
    "Question": question,
    "Opening": opening,
    "Written": written,
}


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter of type Question or Written replaced by its options."""
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
    def run(**given: Any) -> None:
        made = {
            name: build(**{option: given.pop(option) for option in options})
            for name, (build, options) in groups.items()
        }
        command(**made, **given)

    plain = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature([p.replace(kind=plain) for p in shown])  # pyright: ignore
    run.__annotations__ = {}
    del run.__wrapped__  # pyright: ignore[reportAttributeAccessIssue]
    return run
