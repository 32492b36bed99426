"""A websocket's frames as a server writes them: whole, and not masked. A few bytes before each message; no step of an event loop."""

BINARY = 0x82
# What the second byte says of a longer message: its size follows in two bytes, or in eight.
IN_TWO, IN_EIGHT = 126, 127


def binary(message: bytes) -> bytes:
    """A message as one frame."""
    size_bytes = len(message)
    if size_bytes < IN_TWO:
        return bytes((BINARY, size_bytes)) + message
    if size_bytes < 1 << 16:
        return bytes((BINARY, IN_TWO)) + size_bytes.to_bytes(2) + message
    return bytes((BINARY, IN_EIGHT)) + size_bytes.to_bytes(8) + message
