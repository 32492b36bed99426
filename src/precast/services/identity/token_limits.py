"""The largest numbers that a token may have; the server and the signer check them alike."""

MAX_USES = 100_000
MAX_VALID_S = 366 * 86400
