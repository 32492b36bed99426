"""A filter of system calls as the kernel takes it: a small program in classic BPF over the number and the arguments of a call."""

import ctypes
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from precast.base.confinement import kernel
from precast.base.confinement.system_calls import NEWEST, Architecture, Table

ALLOW = 0x7FFF0000
KILL = 0x80000000
_ERRNO = 0x00050000
_MODE_FILTER = 2

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_GREATER = 0x15, 0x25
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
# Calls of the x32 ABI have this bit; no filter of ours knows their numbers.
_X32_BIT = 0x40000000


def refuse(number: int) -> int:
    """The action that lets a call fail with this error number."""
    return _ERRNO | number


class Condition(NamedTuple):
    """True if the argument with this number, masked, is one of the values. Only its lower 32 bits are compared."""

    argument: int
    values: Sequence[int]
    mask: int = 0xFFFFFFFF


class Rule(NamedTuple):
    """What happens with some calls: `action` always, or under the condition, and `otherwise` if it is false."""

    calls: Table
    action: int
    condition: Condition | None = None
    otherwise: int = ALLOW


def assemble(architecture: Architecture, rules: Iterable[Rule], default: int, newer: int) -> bytes:
    """The program. The first rule for a call decides; calls that are newer than our tables get the action `newer`."""
    program = [
        _step(_LOAD, _ARCHITECTURE_AT),
        _step(_IF_EQUAL, architecture.audit, 1, 0),
        _step(_RETURN, KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_IF_GREATER, _X32_BIT - 1, 0, 1),
        _step(_RETURN, KILL),
        _step(_IF_GREATER, NEWEST, 0, 1),
        _step(_RETURN, newer),
    ]
    for rule in rules:
        for numbers in rule.calls.values():
            if (number := numbers[architecture.column]) >= 0:
                program += _decide(number, rule)
    return b"".join([*program, _step(_RETURN, default)])


def install(program: bytes) -> None:
    """Filter the calls of this process and its children for good. Raises OSError. `no_new_privs` must be set."""
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, then a pointer, aligned.
    pointer = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(instructions))
    described = ctypes.create_string_buffer(pointer, len(pointer))
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(described))  # type: ignore[arg-type] # a pointer


def _decide(number: int, rule: Rule) -> list[bytes]:
    decision = _test(rule, rule.condition) if rule.condition is not None else [_step(_RETURN, rule.action)]
    return [_step(_IF_EQUAL, number, 0, len(decision)), *decision]


def _test(rule: Rule, condition: Condition) -> list[bytes]:
    steps = [
        _step(_LOAD, _ARGUMENTS_AT + 8 * condition.argument),
        _step(_AND, condition.mask),
    ]
    for value in condition.values:
        steps += [_step(_IF_EQUAL, value & 0xFFFFFFFF, 0, 1), _step(_RETURN, rule.action)]
    return [*steps, _step(_RETURN, rule.otherwise)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
