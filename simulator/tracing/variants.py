"""How often Dynamo compiles one function: once for each variant of what its graph is guarded by, up
to `torch._dynamo.config.recompile_limit`; what comes after that runs eagerly.

A function is guarded by the type of its module, by the shapes of the module's parameters, and by
the integers, strings and flags among the module's attributes that it reads
(`torch._dynamo.config.allow_unspec_int_on_nn_module` is off); those that it reads on some paths
alone are left out. Sizes of other tensors, and floats,
become symbols at the second variant and are no guard then.
"""

from __future__ import annotations

import dis
from collections.abc import Hashable
from functools import cache
from types import CodeType, FrameType
from typing import cast

from torch import nn

_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_PLAIN = (int, str, type(None))  # a flag is an integer


def guards(frame: FrameType) -> Hashable:
    """What the graph of a method is guarded by that is being called; None where it is no method of
    a module."""
    code = frame.f_code
    module = frame.f_locals.get("self") if code.co_varnames[:1] == ("self",) else None
    if not isinstance(module, nn.Module):
        return None
    attributes = cast("dict[str, object]", module.__dict__)
    read = [name for name in _read(code) if isinstance(attributes.get(name, 0.0), _PLAIN)]
    return (
        type(module),
        tuple([(name, attributes[name]) for name in read]),
        tuple([(name, tuple(p.shape)) for name, p in module.named_parameters()]),
    )


@cache
def _read(code: CodeType) -> tuple[str, ...]:
    """Attributes that each call of a function reads: no jump leads past them."""
    found: list[str] = []
    past = 0  # how far the jumps so far lead
    for instruction in dis.get_instructions(code):
        if instruction.opcode in _JUMPS:
            past = max(past, int(instruction.argval))
        elif instruction.offset >= past and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.append(str(instruction.argval))
        elif instruction.opname.startswith("RETURN_"):
            break
    return tuple(found)


class Variants:
    """Those of each function, in the order in which a step calls them."""

    def __init__(self) -> None:
        self._seen: dict[CodeType, set[Hashable]] = {}

    def compiled(self, code: CodeType, variant: Hashable) -> bool:
        """Is a call of this variant compiled?"""
        from torch._dynamo import config

        seen = self._seen.setdefault(code, set())
        if variant not in seen and len(seen) < config.recompile_limit:
            seen.add(variant)
        return variant in seen
