"""Says why a call fits none of a function's signatures, in Puppet's words.

One signature is refused in one sentence. With several, the sentence names what they all refuse alike, else each is listed with its
own reason. A wrong block is only worth a word if some signature takes the arguments.
"""

from collections.abc import Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.lang.datatypes import mismatch
from precast.lang.functions import issues
from precast.lang.functions.host import Block
from precast.lang.functions.signatures import Signature


def refusal(name: str, signatures: Sequence[Signature], args: Sequence[Any], block: Block | None) -> PrecastError:
    """The error of a call that no signature takes."""
    reasons = [_argument_reasons(signature, args) for signature in signatures]
    if not all(reasons):
        reasons = [
            found or _block_reasons(signature, block) for signature, found in zip(signatures, reasons, strict=True)
        ]
    merged = _merged(signatures, reasons, args, block)
    if merged:
        return issues.WRONG_ARGUMENTS.error(name=name, reason=merged)
    lines = []
    for signature, found in zip(signatures, reasons, strict=True):
        lines.append(f"  ({signature})")
        lines.extend(f"    rejected: {reason}" for reason in found)
    return issues.NO_SIGNATURE_FITS.error(name=name, signatures="\n".join(lines))


def count_text(least: int, most: int | None) -> str:
    """`1 argument`, `between 1 and 2 arguments`, `at least 1 argument`, `no arguments`."""
    if most is None:
        return f"at least {least} {_arguments(least)}"
    if least == most:
        return "no arguments" if most == 0 else f"{least} {_arguments(least)}"
    if least == 0:
        return f"at most {most} {_arguments(most)}"
    return f"between {least} and {most} arguments"


def count_mismatch(least: int, most: int | None, got: int) -> str:
    return f"expects {count_text(least, most)}, got {got or 'none'}"


def _arguments(count: int) -> str:
    return "argument" if count == 1 else "arguments"


def _argument_reasons(signature: Signature, args: Sequence[Any]) -> list[str]:
    if not signature.takes(len(args)):
        return [count_mismatch(signature.min_args, signature.max_args, len(args))]
    reasons = []
    for index, arg in enumerate(args):
        wanted = signature.type_of(index)
        if not wanted.check(arg):
            name = signature.parameters[min(index, len(signature.parameters) - 1)].name
            reasons.append(mismatch.describe(f"parameter '{name}'", wanted, arg))
    return reasons


def _block_reasons(signature: Signature, block: Block | None) -> list[str]:
    if signature.accepts_block(block):
        return []
    if block is None:
        return ["expects a block"]
    if not signature.block_text:
        return ["does not expect a block"]
    counts = signature.block_counts
    if counts is None:
        return [f"block expects a {signature.block_text} value, got {block.type}"]
    return [f"block {count_mismatch(counts[0], counts[1], block.min_args)}"]


def _merged(signatures: Sequence[Signature], reasons: list[list[str]], args: Sequence[Any], block: Block | None) -> str:
    """One sentence for all, or nothing: a wrong number of arguments, of block parameters, or the same reason everywhere."""
    if len(reasons) == 1:
        return "; ".join(reasons[0])
    if not any(signature.takes(len(args)) for signature in signatures):
        most = [signature.max_args for signature in signatures]
        widest = None if None in most else max(each for each in most if each is not None)
        return count_mismatch(min(signature.min_args for signature in signatures), widest, len(args))
    fitting = [
        found for signature, found in zip(signatures, reasons, strict=True) if not _argument_reasons(signature, args)
    ]
    if fitting and block is not None and all(found[0].startswith("block expects") for found in fitting):
        counts = [
            signature.block_counts
            for signature in signatures
            if signature.block_counts and not _argument_reasons(signature, args)
        ]
        if counts:
            least, most_of_all = min(low for low, _ in counts), [high for _, high in counts]
            widest = None if None in most_of_all else max(high for high in most_of_all if high is not None)
            return f"block {count_mismatch(least, widest, block.min_args)}"
    first = reasons[0]
    return "; ".join(first) if all(found == first for found in reasons) else ""
