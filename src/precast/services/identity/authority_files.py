"""The authority's directory: the only place where its key is.

    key.pem            the key that signs
    certificate.pem    everything that is trusted: the certificate of that key, and of the authority before or after it
    chain.pem          signatures of an earlier authority on the one that took its place
    next-key.pem       the key that will sign, while a successor is only prepared

It appears whole. Each later step writes files that are good in any state before and after it, and turns on the move of one: the
certificate that belongs to `key.pem` is the authority, whatever else is there. The key of an authority whose place was taken is
gone from that moment.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from precast.base.errors import PrecastError
from precast.base.files import appearing_directory, write_private
from precast.services import issues
from precast.services.identity import certificates
from precast.services.identity.authority import Authority

Stamp = tuple[tuple[int, int, int] | None, ...]


class AuthorityFiles:
    """One directory. Whoever changes it holds `changing`, also against other processes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.key = directory / "key.pem"
        self.next_key = directory / "next-key.pem"
        self.certificate = directory / "certificate.pem"
        self.chain = directory / "chain.pem"

    def refuse_existing(self) -> None:
        """Raises ConflictError CA-002 if there is an authority, or a part of one."""
        if any(os.path.lexists(path) for path in (self.key, self.certificate)):
            raise issues.AUTHORITY_EXISTS.error(place=self.directory)

    @contextlib.contextmanager
    def creating(self, authority: Authority) -> Iterator[None]:
        """Lay an authority down; it is there, whole, at the end of the block, and nothing is if the block fails.

        Raises ConflictError CA-002 if there is one: it is never overwritten.
        """
        try:
            with appearing_directory(self.directory) as place:
                new = AuthorityFiles(place)
                write_private(new.key, certificates.private_pem(authority.key))
                if authority.chain:
                    write_private(new.chain, _pem(authority.chain))
                write_private(new.certificate, authority.pem.encode())
                yield
        except FileExistsError:
            raise issues.AUTHORITY_EXISTS.error(place=self.directory) from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=self.directory, reason=error.strerror) from error

    def load(self) -> Authority:
        """Raises NotFoundError CA-001 if there is none, UnavailableError CA-003 if it cannot be used."""
        if not self.directory.is_dir() or not any(self.directory.iterdir()):
            raise issues.NO_AUTHORITY.error(place=self.directory)
        try:
            key = serialization.load_pem_private_key(self.key.read_bytes(), password=None)
            trusted = x509.load_pem_x509_certificates(self.certificate.read_bytes())
            chain = x509.load_pem_x509_certificates(self.chain.read_bytes()) if self.chain.exists() else []
        except FileNotFoundError as error:
            missing = Path(error.filename).name
            raise issues.AUTHORITY_DAMAGED.error(place=self.directory, reason=f"{missing} is missing") from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=self.directory, reason=error.strerror) from error
        except (ValueError, TypeError):
            raise issues.AUTHORITY_DAMAGED.error(
                place=self.directory, reason="a file is not a key or certificate in PEM"
            ) from None
        mine = [one for one in trusted if one.public_key() == key.public_key()]
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not mine:
            raise issues.AUTHORITY_DAMAGED.error(
                place=self.directory, reason="key and certificate do not belong together"
            )
        return Authority(key, mine[0], [one for one in trusted if one is not mine[0]], chain)

    @property
    def is_prepared(self) -> bool:
        """Whether a successor waits for its turn."""
        return self.next_key.exists()

    @property
    def stamp(self) -> Stamp:
        """What changes when any of the files does."""
        return tuple(map(_stamp, (self.key, self.next_key, self.certificate, self.chain)))

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Raises ConflictError CA-012 if someone else is at it."""
        handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise issues.ROTATING.error(state="someone is at it at this moment") from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=self.directory, reason=error.strerror) from error
        finally:
            os.close(handle)

    def prepare(self, successor: Authority, signature: x509.Certificate) -> None:
        """Let a successor be trusted; nothing signs with it yet."""
        now = self.load()
        write_private(self.chain, _pem([signature]))
        write_private(self.certificate, _pem([now.certificate, successor.certificate]))
        # Last: with it, a successor is prepared. Cut off before, there is one too many to trust, which `retire` takes away.
        write_private(self.next_key, certificates.private_pem(successor.key))

    def switch(self) -> None:
        """Let the successor sign. The key before it is gone."""
        self.next_key.replace(self.key)
        write_private(self.certificate, self.load().pem.encode())

    def retire(self) -> None:
        """Trust the present one alone."""
        write_private(self.certificate, _pem([self.load().certificate]))
        self.chain.unlink(missing_ok=True)


def _pem(given: "list[x509.Certificate] | tuple[x509.Certificate, ...]") -> bytes:
    return "".join(map(certificates.certificate_pem, given)).encode()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


class HeldAuthority:
    """The authority as this process has it; others may change the directory."""

    def __init__(self, files: AuthorityFiles) -> None:
        """Raises as `AuthorityFiles.load`."""
        self.files = files
        self._stamp = files.stamp
        self.current = files.load()

    def look(self) -> bool:
        """Take what is there now; whether it has changed. Raises as `load`: then the authority is as it was."""
        stamp = self.files.stamp
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.current = self.files.load()
        return True

    def newest(self) -> Authority:
        """What to sign with: never a key whose place another process has just given to a successor."""
        with contextlib.suppress(PrecastError):  # half a copy, perhaps; what we have is still good
            self.look()
        return self.current
