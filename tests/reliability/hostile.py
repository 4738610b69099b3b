"""Hostile files of every format: each is read, or refused with one error, in bounded time.

    python -m tests.reliability.hostile --mutations 5000 --seconds 600 --record

About 30 files per format are written by hand; the others are mutations of a valid file, drawn from
a seed: flipped, deleted, repeated and swapped bytes, and numbers replaced by extreme ones.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from app.answers.sweeps import design
from app.lessons import lesson_file, pack
from simulator.cluster.cluster import cluster
from simulator.errors import RidgepointError
from simulator.formats import trace_file
from simulator.formats.link import link
from simulator.hardware.gpu import gpu
from simulator.hardware.host import FOLDER as HOSTS
from simulator.hardware.host import host
from simulator.measured import profiler_trace
from simulator.planning import spec_file
from simulator.planning.server import requests
from simulator.scenario.scenario import load as load_scenario
from simulator.scenario.text.link import scenario_of_link
from simulator.timing.profile import FOLDER, profile
from tests.reliability import promises

_ROOT = Path(__file__).parents[2]
_LONGEST_S = 2.0
_SCENARIO = """format = "ridgepoint-scenario"
version = 1
network = "bert-base"
batch = 8
[[whatif]]
name = "cuda_graph"
"""
_DESIGN = """sample = 3
seed = 1
[scenario]
network = "bert-base"
[axes]
gpu = ["h100", "h200"]
batch = "1:512"
whatifs = ["none", "+cuda_graph +precision=fp16"]
"""
_PROFILED = (
    '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1.5, "dur": 2.5, '
    '"args": {"stream": 7, "device": 0, "correlation": 1}}, {"ph": "X", "cat": "kernel", '
    '"name": "l", "ts": 5.5, "dur": 2.5, "args": {"stream": 7, "device": 0, "correlation": 2}}]}'
)
_REQUESTS = "arrival_s,prompt_tokens,output_tokens\n0.5,100,20\n1.5,300,10\n"


class Format(NamedTuple):
    """A kind of file: its suffix, its reader, and the content of a valid one."""

    suffix: str
    read: Callable[[Path], Any]
    valid: bytes


class Fault(NamedTuple):
    """A failure of a reader: it neither reads the file nor refuses it at once with one line."""

    format: str
    file: str
    problem: str


def formats() -> dict[str, Format]:
    """All formats of files that people write or download."""

    def content(path: str) -> bytes:
        return (_ROOT / path).read_bytes()

    def of_name(read: Callable[[str], Any]) -> Callable[[Path], Any]:
        return lambda path: read(str(path))

    host_file = next(iter(sorted(HOSTS.glob("*.json"))))
    return {
        "scenario": Format(".toml", load_scenario, _SCENARIO.encode()),
        "gpu": Format(".toml", gpu, content("simulator/hardware/gpus/h200_sxm.toml")),
        "host": Format(".json", of_name(host), host_file.read_bytes()),
        "cluster": Format(".toml", cluster, content("simulator/cluster/clusters/dgx-h100.toml")),
        "plan": Format(".toml", spec_file.read, content("examples/plans/llm-service.toml")),
        "requests": Format(".csv", requests.read, _REQUESTS.encode()),
        "profiler trace": Format(".json", profiler_trace.read, _PROFILED.encode()),
        "lesson": Format(".toml", lesson_file.read, content("app/lessons/03-intensity.toml")),
        "lesson pack": Format(".toml", pack.read_all, _pack()),
        "design": Format(".toml", design.read, _DESIGN.encode()),
        "link": Format(".txt", _link, link("scenario", _SCENARIO).encode()),
        "text in a link": Format(".toml", _linked, _SCENARIO.encode()),
        "trace": Format(".rpt.json", trace_file.load, _trace()),
        "profile": Format(".json", of_name(profile), _profile()),
    }


def _link(path: Path) -> Any:
    return scenario_of_link(path.read_text("utf-8", "replace"))


def _linked(path: Path) -> Any:
    """Read a text as the scenario of an intact link."""
    return scenario_of_link(link("scenario", path.read_text("utf-8", "replace")))


def _pack() -> bytes:
    lessons = sorted((_ROOT / "app" / "lessons").glob("*.toml"))[:2]
    return pack.pack_text("A pack", lessons).encode()


def _profile() -> bytes:
    """The packaged profile with a few of its residuals: all of them are 10 MB."""
    file = json.loads((FOLDER / "h200.json").read_bytes())
    few = ("pool_average", "reduction", "resample_gather")
    return json.dumps(
        {**file, "residuals": {name: file["residuals"][name] for name in few}}
    ).encode()


def _trace() -> bytes:
    from simulator.networks.loading.load import load
    from simulator.tracing import trace

    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.rpt.json"
        network = load("mlp-tiny", batch=2)
        trace_file.save(trace(network.module, network.args), path)
        return path.read_bytes()


def by_hand(valid: bytes) -> dict[str, bytes]:
    """Hand-written files, by name."""
    half = len(valid) // 2
    digits = re.compile(rb"(?<![\w.\"-])\d+(?:\.\d+)?(?![\w.\"])")
    texts = re.compile(rb'"[^"\n]{2,}"')
    replaced = {
        f"number {word.decode()}": digits.sub(word, valid)
        for word in (b"-1", b"0", b"1e308", b"-1e308", b"9" * 400, b"nan", b"inf", b'"x"', b"[]")
    }
    return replaced | {
        "empty": b"",
        "blank": b" \n\t\n",
        "half": valid[:half],
        "second half": valid[half:],
        "one byte short": valid[:-1],
        "twice": valid + valid,
        "byte order mark": b"\xef\xbb\xbf" + valid,
        "UTF-16": valid.decode("utf-8", "replace").encode("utf-16"),
        "Latin-1": valid + b"# caf\xe9",
        "NUL": b"\0" * 100,
        "NUL inside": valid[:half] + b"\0" + valid[half:],
        "escapes": texts.sub(b'"\\\\u001b[31m"', valid),
        "escaped NUL": texts.sub(b'"a\\\\u0000/b"', valid),
        "long text": texts.sub(b'"' + b"x" * 1500 + b'"', valid),
        "long line": b"a" * 10**6,
        "dotted key": b"a." * 10**4 + b"a = 1\n",
        "deep arrays": b"a = " + b"[" * 10**5,
        "deep JSON": b"[" * 10**5,
        "deep objects": b'{"a":' * 10**5,
        "null": b"null",
        "number": b"17",
        "text": b'"hello"',
        "true": b"true",
        "other object": b'{"a": [1, 2, {"b": null}]}',
        "other table": b"[a]\nb = 1\n",
        "path as text": texts.sub(b'"../../../../etc/passwd"', valid),
        "code as text": texts.sub(b"\"__import__('os').system('true')\"", valid),
        "pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system.",
        "gzip": b"\x1f\x8b\x08\x00" + b"\xff" * 64,
        "html": b"<!doctype html><html><body>404</body></html>",
        "CRLF": valid.replace(b"\n", b"\r\n"),
    }


_EXTREMES = (b"-1", b"0", b"1e999", b"18446744073709551616", b"nan", b'""', b"[]", b"{}", b"1e-320")


def mutated(valid: bytes, draw: random.Random) -> bytes:
    """A valid file with one to four changes."""
    data = bytearray(valid)
    for _ in range(draw.randint(1, 4)):
        at, until = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        until = min(until, at + draw.choice((1, 2, 8, 64)))
        kind = draw.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del data[at:until]
        elif kind == 2:
            data[at:at] = data[at:until] * draw.choice((1, 2, 50))
        elif kind == 3:
            data[at:until] = bytes(draw.randrange(256) for _ in range(until - at))
        elif kind == 4 and (numbers := [*re.finditer(rb"\d+", bytes(data))]):
            place = draw.choice(numbers)
            data[place.start() : place.end()] = draw.choice(_EXTREMES)
        else:
            lines = bytes(data).split(b"\n")
            draw.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def files(form: Format, mutations: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """The files of a format by name, the hand-written ones first."""
    yield from by_hand(form.valid).items()
    for number in range(mutations):
        draw = random.Random(f"{seed} {number}")
        yield f"mutation {number}", mutated(form.valid, draw)


def fault(name: str, form: Format, file: str, content: bytes, folder: Path) -> Fault | None:
    """The fault of a reader with one file; None if it reads or refuses the file at once."""
    path = folder / f"{abs(hash((name, file)))}{form.suffix}"
    path.write_bytes(content)
    began = time.process_time()
    problem = ""
    try:
        form.read(path)
    except RidgepointError as error:
        text = str(error)
        if not text.strip() or len(text) > 2000:
            problem = f"an error of {len(text)} characters"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:200]
    took_s = time.process_time() - began
    path.unlink()
    if took_s > _LONGEST_S:
        problem = f"took {took_s:.1f} s"
    return Fault(name, file, problem) if problem else None


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=500, help="of each format")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    faults: list[Fault] = []
    by_hands = number = 0
    with TemporaryDirectory() as folder:
        every = formats()
        for place, (name, form) in enumerate(every.items()):
            share = until - (until - time.monotonic()) * (len(every) - place - 1) / len(every)
            for file, content in files(form, options.mutations, options.seed):
                by_hands += not file.startswith("mutation")
                number += 1
                if wrong := fault(name, form, file, content, Path(folder)):
                    faults.append(wrong)
                    print(*wrong, sep=": ", flush=True)
                if time.monotonic() > share:
                    break
    figure = f"{by_hands} files by hand, {number - by_hands:,} mutated: {len(faults)} faults"
    print(figure)
    if options.record:
        command = f"python -m tests.reliability.hostile --mutations {options.mutations}"
        promises.write("a hostile file ends in one error within 2 s", command, figure)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
