"""Documents as they lie in the database: packed, because what is a fifth of the size costs a fifth to write, flush and read.

JSON of ours begins with a bracket and a zlib stream never does, so what is too small to gain anything is kept as it is, and both
are told apart by their first byte. The streams are those of any zlib; ISA-L writes them in a fifth of the time, and smaller. Of a small
document most of that time goes into codes of its own: it is packed with the usual ones, in a quarter of it.
"""

from typing import cast

from isal import isal_zlib

# Its stubs take the class for one of its errors.
_BROKEN = cast("type[Exception]", isal_zlib.error)
# Below this a row's own overhead outweighs what packing saves.
MIN_BYTES = 256
# From this on a document is packed with codes of its own.
LARGE_BYTES = 8 * 1024


def pack(document: bytes) -> bytes:
    """The form to store a JSON mapping or list in."""
    if len(document) < MIN_BYTES:
        return document
    return isal_zlib.compress(document, 0 if len(document) < LARGE_BYTES else 1)


def unpack_within(stream: bytes, most_bytes: int) -> bytes:
    """What a stream of somebody else's holds, if that is at most so many bytes. Raises ValueError for any other."""
    inflating = isal_zlib.decompressobj()
    try:
        document = inflating.decompress(stream, max(1, most_bytes))
    except _BROKEN as error:
        raise ValueError(str(error)) from None
    if not inflating.eof or inflating.unused_data:
        raise ValueError(f"it is not one whole stream of at most {most_bytes} bytes")
    return bytes(document)


def unpack(stored: bytes) -> bytes:
    """The document as it was. Raises ValueError if it is none."""
    if stored[:1] in (b"{", b"["):
        return bytes(stored)
    try:
        return isal_zlib.decompress(stored)
    except _BROKEN as error:
        raise ValueError(str(error)) from None
