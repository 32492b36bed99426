"""Encodes websocket frames as a server sends them: unfragmented and unmasked. A frame is written without a turn of the event loop."""

BINARY = 0x82
# Values of the second byte for longer messages: the size follows in two bytes, or in eight.
SIZE_IN_TWO, SIZE_IN_EIGHT = 126, 127


def encode_binary(message: bytes) -> bytes:
    """Encode a message as one binary frame."""
    size_bytes = len(message)
    if size_bytes < SIZE_IN_TWO:
        return bytes((BINARY, size_bytes)) + message
    if size_bytes < 1 << 16:
        return bytes((BINARY, SIZE_IN_TWO)) + size_bytes.to_bytes(2) + message
    return bytes((BINARY, SIZE_IN_EIGHT)) + size_bytes.to_bytes(8) + message
