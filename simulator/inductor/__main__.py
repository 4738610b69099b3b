"""The child process: `python -m simulator.inductor FILE [LIMITS]` reads a question from standard
input, reports its progress on standard output, and writes the answer to FILE. LIMITS are those of
the process, as JSON."""

from __future__ import annotations

import gc
import os
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from simulator.caches.frames import with_room
from simulator.inductor.breaks.graph_breaks import version_mismatch
from simulator.inductor.child import Message
from simulator.inductor.forked import end_with_input
from simulator.inductor.question import Question, decoded
from simulator.inductor.refusal import RefusalError
from simulator.isolated.limits import Limits, confine


def main() -> None:
    """Answer one question."""
    messages = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # libraries print to standard error

    def send(message: Message) -> None:
        messages.write(msgspec.json.encode(message) + b"\n")

    def show(step: str) -> None:
        send(Message(step=step))

    for limits in sys.argv[2:]:
        confine(msgspec.json.decode(limits, type=Limits))
    question = decoded(sys.stdin.buffer.readline())
    threading.Thread(target=end_with_input, daemon=True).start()
    try:
        answer = with_room(lambda: _answer(question, show))
    except RefusalError as refusal:
        send(Message(refused=str(refusal)))
    except Exception as error:
        send(Message(refused=version_mismatch(error)))
    else:
        Path(sys.argv[1]).write_bytes(msgspec.msgpack.encode(answer))
        send(Message(done=True))
    os._exit(0)  # skips torch's slow shutdown


def _answer(question: Question, progress: Any) -> Any:
    # torch is imported late, after the device is loaded and the environment is set
    from simulator.inductor.cuda_guard import install

    progress("preparing a device")
    install()  # before torch is imported
    progress("importing torch and Triton")
    gc.disable()  # garbage collection would take a tenth of this short process's time
    os.environ["TORCH_DYNAMO_RUN_GC_AFTER_COMPILE"] = "0"
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    # it imports torch, which reads these variables
    from simulator.inductor.answering import answer

    return answer(question, progress)


if __name__ == "__main__":
    main()
