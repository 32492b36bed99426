"""Files of ours and of the program `age`: each opens those of the other."""

import io
import os
import pty
import secrets
import subprocess
from pathlib import Path

import pytest

from precast.base.encryption.files import DecryptedReader, EncryptedWriter
from precast.base.encryption.keys import Identity, Lock, Opener, Passphrase, Recipients

pytestmark = pytest.mark.needs("age")

CONTENT = secrets.token_bytes(150_000)
DEADLINE_S = 60


def write(path: Path, lock: Lock) -> None:
    with path.open("wb") as file:
        writer = EncryptedWriter(file, lock)
        writer.write(CONTENT)
        writer.finish()


def read(path: Path, opener: Opener) -> bytes:
    with path.open("rb") as file:
        return io.BufferedReader(DecryptedReader(file, opener)).read()


def age(*words: str | Path) -> None:
    subprocess.run(["age", *map(str, words)], check=True, timeout=DEADLINE_S, capture_output=True)


def age_at_terminal(passphrase: bytes, *words: str | Path) -> None:
    """Run age, which asks for passphrases at a terminal only."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("age", ["age", *map(str, words)])
    said = b""
    try:
        while part := os.read(terminal, 1024):
            said += part
            if said.rstrip().endswith(b":"):
                os.write(terminal, passphrase + b"\n")
                said = b""
    except OSError:  # the terminal of a process that has ended
        pass
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, said


def test_recipients_file_is_opened_by_age_and_the_other_way_round(tmp_path: Path) -> None:
    key = tmp_path / "key.txt"
    subprocess.run(["age-keygen", "-o", key], check=True, capture_output=True)
    identity = Identity.parse(key.read_text())
    assert f"# public key: {identity.recipient}\n" in key.read_text()
    write(tmp_path / "ours", Recipients.parse([Identity.new(secrets).recipient, identity.recipient]))
    age("-d", "-i", key, "-o", tmp_path / "opened", tmp_path / "ours")
    assert (tmp_path / "opened").read_bytes() == CONTENT
    age("-r", identity.recipient, "-o", tmp_path / "theirs", tmp_path / "opened")
    assert read(tmp_path / "theirs", identity) == CONTENT


def test_passphrase_file_is_opened_by_age_and_the_other_way_round(tmp_path: Path) -> None:
    passphrase = Passphrase(b"correct horse battery staple")
    write(tmp_path / "ours", passphrase)
    age_at_terminal(passphrase.secret, "-d", "-o", tmp_path / "opened", tmp_path / "ours")
    assert (tmp_path / "opened").read_bytes() == CONTENT
    age_at_terminal(passphrase.secret, "-p", "-o", tmp_path / "theirs", tmp_path / "opened")
    assert read(tmp_path / "theirs", passphrase) == CONTENT
