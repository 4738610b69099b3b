"""Calls of generic aliases, such as `list[Tensor]()`, which Dynamo cannot trace.

Python's profiler reports calls of functions only, so these calls are found in the bytecode of the
function that makes them: the callee is a global or an attribute of one, with or without an index.
Aliases in local variables and in attributes of objects are not found. Those of `typing` and of
classes with type parameters are called through functions of Python (`aliased`).
"""

from __future__ import annotations

import dis
from sys import version_info
from types import BuiltinFunctionType, CodeType, FrameType, GenericAlias, ModuleType
from typing import Any, cast

from simulator.tracing.python_code.bytecode import path

_UNKNOWN = object()
_ALIAS = object()
"""The values on a stack that are not known, and a generic alias."""
_NO_EFFECT = ("PRECALL", "CACHE", "RESUME", "NOP", "EXTENDED_ARG", "KW_NAMES", "MAKE_CELL")
_POPPING = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_FROM_DICT_OR_GLOBALS",
            "LOAD_FROM_DICT_OR_DEREF")  # fmt: skip
"""Instructions that load by a value on the stack; the other ones that load only push."""
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD",
         "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")  # fmt: skip
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_known: dict[int, tuple[CodeType, dict[int, int]]] = {}


class AliasCalls:
    """Follows one call of a function that calls generic aliases."""

    def __init__(self, frame: FrameType, lines: dict[int, int]) -> None:
        self._lines, self._at = lines, frame.f_lasti
        self._event: object = None

    def passed(self, frame: FrameType, event: object = None) -> list[tuple[int, int]]:
        """The offset and the line of each call of an alias since the last event of a frame. Between
        two events, a frame takes the shortest path. An `event` is what the frame itself calls; if
        it calls the same again from the same place, it has run through a loop."""
        before, self._at = self._at, frame.f_lasti
        if before == self._at and (event is None or event is not self._event):
            return []
        self._event = event
        return [
            (offset, self._lines[offset])
            for offset in path(frame.f_code, before, self._at)
            if offset in self._lines
        ]


def alias_calls(frame: FrameType) -> AliasCalls | None:
    """The calls of generic aliases in the function that `frame` enters; None if it has none."""
    code = frame.f_code
    known = _known.get(id(code))
    if known is None:
        lines = _lines(frame) if _names_an_alias(frame) else {}
        known = _known[id(code)] = code, lines
    return AliasCalls(frame, known[1]) if known[1] else None


def aliased(frame: FrameType) -> str:
    """The reason why Dynamo cannot trace a call of a function of `typing`: the call of an alias, or
    type arguments of a class. It traces the aliases that `typing` defines; "" for these."""
    code = frame.f_code
    if code.co_qualname == "_BaseGenericAlias.__call__":
        return CALLED
    if code.co_qualname.startswith("_tp_cache.") and code.co_name == "inner":
        args = cast("tuple[Any, ...]", frame.f_locals.get("args", ()))
        if args and isinstance(args[0], type):
            return f"{args[0].__name__} is given type arguments"
    return ""


CALLED = "a generic alias is called"


def _names_an_alias(frame: FrameType) -> bool:
    """Whether a function has the name of an alias, or of a class that makes one."""
    names = frame.f_code.co_names
    values = [_global(frame, name) for name in names]
    owners = [value for value in values if isinstance(value, (ModuleType, type))]
    values += [_attribute(owner, name) for owner in owners for name in names]
    return any(isinstance(value, GenericAlias) or _makes_alias(value) for value in values)


def _global(frame: FrameType, name: str) -> Any:
    return frame.f_globals.get(name, frame.f_builtins.get(name, _UNKNOWN))


def _makes_alias(value: Any) -> bool:
    """Whether an index of a value makes an alias whose call is not one of Python code."""
    if isinstance(value, GenericAlias) or value is type:
        return True
    if not isinstance(value, type):
        return False
    function = getattr(value, "__class_getitem__", None)
    return isinstance(function, BuiltinFunctionType) or (
        getattr(function, "__func__", None) is GenericAlias
    )


def _lines(frame: FrameType) -> dict[int, int]:
    """The line of each instruction that calls an alias, by its offset. The stack is followed
    through the code once, without its loops."""
    stack: list[Any] = []
    arriving: dict[int, list[Any]] = {}
    lines: dict[int, int] = {}
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset in arriving:
            stack = _merged(stack, arriving.pop(instruction.offset))
        if instruction.opcode in _JUMPS and int(instruction.argval) > instruction.offset:
            jumped = [*stack]
            _step(jumped, instruction, frame, jump=True)
            arriving[int(instruction.argval)] = jumped
        if _step(stack, instruction, frame) is _ALIAS:
            positions = instruction.positions
            line = positions.lineno if positions is not None else None
            lines[instruction.offset] = line or frame.f_code.co_firstlineno
        if instruction.opname in _ENDS:
            stack = []
    return lines


def _merged(one: list[Any], other: list[Any]) -> list[Any]:
    """The stack where two paths meet; one of them may end before."""
    if len(one) != len(other):
        return one or other
    return [a if a is b else _UNKNOWN for a, b in zip(one, other, strict=True)]


def _step(
    stack: list[Any], instruction: dis.Instruction, frame: FrameType, jump: bool = False
) -> object:
    """Change the stack as an instruction does. Return `_ALIAS` if it calls an alias."""
    name, number = instruction.opname, instruction.arg
    if name in _NO_EFFECT:
        return None
    effect = dis.stack_effect(instruction.opcode, number, jump=jump)
    if name in ("LOAD_GLOBAL", "LOAD_NAME"):
        null = [_UNKNOWN] * (effect - 1)
        value = [_global(frame, str(instruction.argval))]
        stack += value + null if version_info >= (3, 13) else null + value
    elif name in ("LOAD_ATTR", "LOAD_METHOD"):
        owner = _pop(stack, 1)[0]
        stack += [_attribute(owner, str(instruction.argval)), *[_UNKNOWN] * effect]
    elif name == "PUSH_NULL" or (name.startswith("LOAD_") and name not in _POPPING):
        stack += [_UNKNOWN] * effect
    elif name in ("COPY", "SWAP"):
        depth = min(number or 1, len(stack))
        if name == "COPY":
            stack.append(stack[-depth] if depth else _UNKNOWN)
        elif depth:
            stack[-1], stack[-depth] = stack[-depth], stack[-1]
    elif name.startswith(("POP_", "STORE_")):
        _pop(stack, -effect)
    elif name == "BINARY_SUBSCR" or (name == "BINARY_OP" and instruction.argrepr == "[]"):
        owner, _ = _pop(stack, 2)
        stack.append(_ALIAS if _makes_alias(owner) else _UNKNOWN)
    elif name.startswith("CALL"):
        operands = (number or 0) + 2 if name == "CALL" else 1 - effect
        callee = _pop(stack, operands)[:2]
        stack.append(_UNKNOWN)
        if any(each is _ALIAS or isinstance(each, GenericAlias) for each in callee):
            return _ALIAS
    else:  # one result, or one operand
        _pop(stack, max(1 - effect, 1 if effect > 0 and not name.startswith("BUILD_") else 0))
        stack += [_UNKNOWN] * max(effect + (not name.startswith("BUILD_")), 1)
    return None


def _pop(stack: list[Any], count: int) -> list[Any]:
    """The last `count` values of a stack, which are removed; unknown ones where it has fewer."""
    count = max(count, 0)
    known = stack[len(stack) - min(count, len(stack)) :]
    del stack[len(stack) - len(known) :]
    return [_UNKNOWN] * (count - len(known)) + known


def _attribute(owner: Any, name: str) -> Any:
    """The attribute of a module or of a class, without running code."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, _UNKNOWN)
    if isinstance(owner, type):
        return next((vars(each)[name] for each in owner.__mro__ if name in vars(each)), _UNKNOWN)
    return _UNKNOWN
