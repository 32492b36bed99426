"""Where the passphrase of the authority's keys comes from: a file, a credential of systemd, a command, or a person at a terminal.

The passphrase is needed once, when the signer starts. It is never an argument or a variable: other processes could read it there.
"""

import getpass
import os
import shlex
import stat
import sys
from pathlib import Path

from precast.base import programs
from precast.services.identity import issues

# The name of the credential in a unit: LoadCredential=signer-passphrase:FILE.
CREDENTIAL = "signer-passphrase"
PROMPT = "Passphrase of the authority's keys: "
MAX_BYTES = 4096
COMMAND_S = 60.0


def find_passphrase(
    file: Path | None, command: str, *, may_ask: bool, asks_twice: bool = False, prompt: str = PROMPT
) -> bytes | None:
    """Return the passphrase from the first source that is set; None if there is none. Raises UnavailableError CA-038.

    A prompt of its own asks for another secret than the passphrase of the authority's keys, which alone may be a credential.
    """
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    credential = Path(directory) / CREDENTIAL if directory and prompt == PROMPT else None
    if file is None and credential is not None and credential.exists():
        file = credential
    if file is not None:
        return _read(file)
    if command:
        return _run(command)
    if may_ask and sys.stdin.isatty():
        return _ask(prompt, asks_twice=asks_twice)
    return None


def _ask(prompt: str, *, asks_twice: bool) -> bytes:
    passphrase = getpass.getpass(prompt)
    if asks_twice and getpass.getpass("Again: ") != passphrase:
        raise issues.BAD_PASSPHRASE.error(source="the terminal", reason="the two are different")
    return _checked(passphrase.encode(), "the terminal")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_IMODE(mode) & 0o077:
                raise issues.BAD_PASSPHRASE.error(source=path, reason="others may read it: its mode must be 0600")
            return _checked(file.read(MAX_BYTES + 1), str(path))
    except OSError as error:
        raise issues.BAD_PASSPHRASE.error(source=path, reason=error.strerror) from error


def _run(command: str) -> bytes:
    try:
        words = shlex.split(command)
        done = programs.run(words, COMMAND_S, MAX_BYTES) if words else None
    except (ValueError, OSError) as error:  # OSError includes TimeoutError
        raise issues.BAD_PASSPHRASE.error(source="the command", reason=str(error) or "it took too long") from None
    if done is None or done.code != 0:
        reason = "it is empty" if done is None else f"it ended with exit code {done.code}"
        raise issues.BAD_PASSPHRASE.error(source="the command", reason=reason)
    return _checked(done.out, "the command")


def _checked(data: bytes, source: str) -> bytes:
    passphrase = data.rstrip(b"\r\n")
    if not 0 < len(passphrase) <= MAX_BYTES:
        reason = f"it has {len(passphrase)} bytes, and must have 1 to {MAX_BYTES}"
        raise issues.BAD_PASSPHRASE.error(source=source, reason=reason)
    return passphrase
