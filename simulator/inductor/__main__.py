"""The child process: `python -m simulator.inductor FILE` reads a question from its standard input,
tells what it does on its standard output, and writes the answer to FILE."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from simulator.inductor.child import Message
from simulator.inductor.forked import end_with_input
from simulator.inductor.graph_breaks import otherwise
from simulator.inductor.question import Question, decoded
from simulator.inductor.refusal import RefusalError


def main() -> None:
    """Answer one question."""
    told = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print is no message

    def tell(message: Message) -> None:
        told.write(msgspec.json.encode(message) + b"\n")

    question = decoded(sys.stdin.buffer.readline())
    threading.Thread(target=end_with_input, daemon=True).start()
    try:
        found = _answer(question, lambda step: tell(Message(step=step)))
    except RefusalError as refusal:
        tell(Message(refused=str(refusal)))
    except Exception as error:
        tell(Message(refused=otherwise(error)))
    else:
        Path(sys.argv[1]).write_bytes(msgspec.msgpack.encode(found))
        tell(Message(done=True))
    os._exit(0)  # nothing is to be put back, and torch takes its time to go


def _answer(question: Question, progress: Any) -> Any:
    from simulator.inductor.cuda_guard import install

    progress("preparing a device")
    install()  # before torch is imported
    progress("importing torch and Triton")
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    from simulator.inductor.answering import answered

    return answered(question, progress)


if __name__ == "__main__":
    main()
