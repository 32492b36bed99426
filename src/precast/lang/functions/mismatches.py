"""Explains in Puppet's words why none of a function's signatures accepts a call.

The message is one sentence for a single signature, and for several that reject the same thing: the number of arguments, one parameter,
the number of the block's parameters. Otherwise it lists each signature with its reasons. It mentions a wrong block only if a signature
accepts the arguments.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from precast.base.errors import PrecastError
from precast.lang.datatypes import Type, mismatch
from precast.lang.datatypes.composites import variant
from precast.lang.functions.host import Block
from precast.lang.functions.signatures import Signature
from precast.lang.issues import functions as issues


class Reason(NamedTuple):
    """Why a signature rejects a call: the parameter with its type and the argument, or only a text."""

    text: str
    parameter: str = ""
    expected: Type | None = None
    given: Any = None


def mismatch_error(
    name: str, signatures: Sequence[Signature], args: Sequence[Any], block: Block | None
) -> PrecastError:
    """Return the error of a call that no signature accepts."""
    reasons = [_argument_reasons(signature, args) for signature in signatures]
    if not all(reasons):
        reasons = [
            argument_reasons or _block_reasons(signature, block)
            for signature, argument_reasons in zip(signatures, reasons, strict=True)
        ]
    merged = _merge_reasons(signatures, reasons, args, block)
    if merged:
        return issues.WRONG_ARGUMENTS.error(name=name, reason=merged)
    listed = [
        f"({signature}), rejected: {', '.join(reason.text for reason in signature_reasons)}"
        for signature, signature_reasons in zip(signatures, reasons, strict=True)
    ]
    return issues.NO_SIGNATURE_FITS.error(name=name, signatures="; ".join(listed))


def count_text(least: int, most: int | None) -> str:
    """Return a text such as `1 argument`, `between 1 and 2 arguments`, `at least 1 argument` or `no arguments`."""
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
    if not signature.accepts_count(len(args)):
        return [Reason(count_mismatch(signature.min_args, signature.max_args, len(args)))]
    reasons = []
    for index, arg in enumerate(args):
        expected = signature.type_of(index)
        if not expected.check(arg):
            name = signature.parameters[min(index, len(signature.parameters) - 1)].name
            reasons.append(Reason(mismatch.describe(f"parameter '{name}'", expected, arg), name, expected, arg))
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


def _merge_reasons(
    signatures: Sequence[Signature], reasons: list[list[Reason]], args: Sequence[Any], block: Block | None
) -> str:
    """Return one sentence for all signatures, or an empty text."""
    if not any(signature.accepts_count(len(args)) for signature in signatures):
        least, most = _widest([(signature.min_args, signature.max_args) for signature in signatures])
        return count_mismatch(least, most, len(args))
    texts = ["; ".join(reason.text for reason in signature_reasons) for signature_reasons in reasons]
    if all(text == texts[0] for text in texts):
        return texts[0]
    if all(len(those) == 1 and those[0].parameter == reasons[0][0].parameter != "" for those in reasons):
        expected = variant(tuple(those[0].expected for those in reasons if those[0].expected is not None))
        return mismatch.describe(f"parameter '{reasons[0][0].parameter}'", expected, reasons[0][0].given)
    return _merged_blocks(signatures, reasons, args, block)


def _merged_blocks(
    signatures: Sequence[Signature], reasons: list[list[Reason]], args: Sequence[Any], block: Block | None
) -> str:
    """Return one sentence if all signatures that accept the arguments reject the block alike, or by its number of parameters."""
    fitting = [
        (signature, signature_reasons)
        for signature, signature_reasons in zip(signatures, reasons, strict=True)
        if not _argument_reasons(signature, args)
    ]
    if fitting and all(block_reasons == fitting[0][1] for _, block_reasons in fitting):
        return fitting[0][1][0].text
    counts = [signature.block_counts for signature, _ in fitting if signature.block_counts is not None]
    if (
        block is None
        or not counts
        or not all(block_reasons[0].text.startswith("block expects") for _, block_reasons in fitting)
    ):
        return ""
    least, most = _widest(counts)
    return f"block {count_mismatch(least, most, block.min_args)}"


def _widest(counts: Sequence[tuple[int, int | None]]) -> tuple[int, int | None]:
    highs = [high for _, high in counts]
    return min(low for low, _ in counts), None if None in highs else max(high for high in highs if high is not None)
