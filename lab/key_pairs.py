"""Key pairs of hiera-eyaml and values encrypted for them, made with openssl."""

import base64
import shutil
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")
PRIVATE, PUBLIC = "private_key.pkcs7.pem", "public_key.pkcs7.pem"


def run_openssl(*words: str, data: bytes = b"") -> bytes:
    assert OPENSSL is not None
    return subprocess.run([OPENSSL, *words], input=data, capture_output=True, check=True, timeout=60).stdout


def make_pair(directory: Path, private: str = PRIVATE, public: str = PUBLIC) -> None:
    """Make a key pair in two files that only their owner can read."""
    directory.mkdir(parents=True, exist_ok=True)
    files = "-keyout", str(directory / private), "-out", str(directory / public)
    run_openssl("req", "-x509", "-nodes", "-newkey", "rsa:2048", *files, "-batch", "-subj", "/CN=x")
    (directory / private).chmod(0o600)


def encrypt(text: str, public: Path, cipher: str = "-aes-256-cbc") -> str:
    """The text as hiera-eyaml writes it."""
    data = run_openssl("smime", "-encrypt", "-binary", cipher, "-outform", "DER", str(public), data=text.encode())
    return f"ENC[PKCS7,{base64.b64encode(data).decode()}]"
