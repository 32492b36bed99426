"""Says why a call fits none of a function's signatures, in Puppet's words.

One signature is refused in one sentence. Several are, too, where they refuse the same thing: the number of arguments, one parameter,
the number of a block's parameters; else each is listed with its own reasons. A wrong block is only worth a word if some signature
takes the arguments.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.lang.datatypes import Type, mismatch
from precast.lang.datatypes.combined import variant
from precast.lang.functions import issues
from precast.lang.functions.host import Block
from precast.lang.functions.signatures import Signature


class Reason(NamedTuple):
    """Why a signature does not take a call: the parameter with its type and the argument, or only a text."""

    text: str
    parameter: str = ""
    wanted: Type | None = None
    given: Any = None


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
    listed = [
        f"({signature}), rejected: {', '.join(reason.text for reason in found)}"
        for signature, found in zip(signatures, reasons, strict=True)
    ]
    return issues.NO_SIGNATURE_FITS.error(name=name, signatures="; ".join(listed))


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


def _argument_reasons(signature: Signature, args: Sequence[Any]) -> list[Reason]:
    if not signature.takes(len(args)):
        return [Reason(count_mismatch(signature.min_args, signature.max_args, len(args)))]
    reasons = []
    for index, arg in enumerate(args):
        wanted = signature.type_of(index)
        if not wanted.check(arg):
            name = signature.parameters[min(index, len(signature.parameters) - 1)].name
            reasons.append(Reason(mismatch.describe(f"parameter '{name}'", wanted, arg), name, wanted, arg))
    return reasons


def _block_reasons(signature: Signature, block: Block | None) -> list[Reason]:
    if signature.accepts_block(block):
        return []
    if block is None:
        return [Reason("expects a block")]
    if not signature.block_text:
        return [Reason("does not expect a block")]
    counts = signature.block_counts
    if counts is None:
        return [Reason(f"block expects a {signature.block_text} value, got {block.type}")]
    return [Reason(f"block {count_mismatch(counts[0], counts[1], block.min_args)}")]


def _merged(
    signatures: Sequence[Signature], reasons: list[list[Reason]], args: Sequence[Any], block: Block | None
) -> str:
    """One sentence for all, or nothing."""
    if not any(signature.takes(len(args)) for signature in signatures):
        least, most = _widest([(signature.min_args, signature.max_args) for signature in signatures])
        return count_mismatch(least, most, len(args))
    texts = ["; ".join(reason.text for reason in found) for found in reasons]
    if all(text == texts[0] for text in texts):
        return texts[0]
    if all(len(found) == 1 and found[0].parameter == reasons[0][0].parameter != "" for found in reasons):
        wanted = variant(tuple(found[0].wanted for found in reasons if found[0].wanted is not None))
        return mismatch.describe(f"parameter '{reasons[0][0].parameter}'", wanted, reasons[0][0].given)
    return _merged_blocks(signatures, reasons, args, block)


def _merged_blocks(
    signatures: Sequence[Signature], reasons: list[list[Reason]], args: Sequence[Any], block: Block | None
) -> str:
    """One sentence if all that take the arguments mind the block alike, or only how many parameters it has."""
    fitting = [each for each in zip(signatures, reasons, strict=True) if not _argument_reasons(each[0], args)]
    if fitting and all(found == fitting[0][1] for _, found in fitting):
        return fitting[0][1][0].text
    counts = [signature.block_counts for signature, _ in fitting if signature.block_counts is not None]
    if block is None or not counts or not all(found[0].text.startswith("block expects") for _, found in fitting):
        return ""
    least, most = _widest(counts)
    return f"block {count_mismatch(least, most, block.min_args)}"


def _widest(counts: Sequence[tuple[int, int | None]]) -> tuple[int, int | None]:
    highs = [high for _, high in counts]
    return min(low for low, _ in counts), None if None in highs else max(high for high in highs if high is not None)
