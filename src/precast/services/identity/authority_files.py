"""The authority's directory: the only place where its key is stored.

    key.pem            the key that signs
    certificate.pem    what nodes and people trust: the certificate of that key, and the one of the authority before or after it
    imported.pem       the authority that issued imported certificates of nodes, until it is retired; it signs no servers
    imported-nodes     the fingerprints of those certificates, one in a line; others of that authority are not renewed
    chain.pem          signatures of an earlier authority on the one that replaced it, or the path to a root above this one
    next-key.pem       the key that will sign, while a successor is only prepared
    seal-key.pem       the key of the signer's seals, which rotation does not change

The keys are in PKCS #8, encrypted if the directory has a passphrase. Only the signer and local commands read them.

The directory is created atomically. Each later step writes files that are valid in the state before and after it, and takes effect
by one rename: the certificate that belongs to `key.pem` is the authority, whatever else is there. The rename that installs a new key
destroys the old one.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

from precast.base.errors import PrecastError
from precast.base.files import new_directory, write_private
from precast.services.identity import certificates, issues
from precast.services.identity.authority import Authority

FileStamps = tuple[tuple[int, int, int] | None, ...]


class AuthorityFiles:
    """The directory of one authority. Changes are made under `locked`, which excludes other processes too."""

    def __init__(self, directory: Path, passphrase: bytes | None = None) -> None:
        self.directory = directory
        self._passphrase = passphrase
        self.seal_key = directory / "seal-key.pem"
        self.key = directory / "key.pem"
        self.next_key = directory / "next-key.pem"
        self.certificate = directory / "certificate.pem"
        self.imported = directory / "imported.pem"
        self.imported_nodes = directory / "imported-nodes"
        self.chain = directory / "chain.pem"

    def refuse_existing(self) -> None:
        """Raises ConflictError CA-002 if the directory contains an authority, or a part of one."""
        if any(os.path.lexists(path) for path in (self.key, self.certificate)):
            raise issues.AUTHORITY_EXISTS.error(place=self.directory)

    @contextlib.contextmanager
    def created(self, authority: Authority, imported_nodes: Iterable[str] = ()) -> "Iterator[AuthorityFiles]":
        """Write the files of an authority; they appear at the end of the block, or not at all if the block fails.

        Within the block, the returned directory has them. `imported_nodes` are the fingerprints of imported certificates.

        Raises ConflictError CA-002 if there is an authority already: it is never overwritten.
        """
        try:
            with new_directory(self.directory) as place:
                new = AuthorityFiles(place, self._passphrase)
                write_private(new.key, certificates.private_pem(authority.key, self._passphrase))
                write_private(new.seal_key, certificates.private_pem(Ed25519PrivateKey.generate(), self._passphrase))
                if authority.chain:
                    write_private(new.chain, _pem(authority.chain))
                if authority.imported:
                    write_private(new.imported, _pem(authority.imported))
                    write_private(new.imported_nodes, "".join(f"{each}\n" for each in imported_nodes).encode())
                write_private(new.certificate, authority.pem.encode())
                yield new
        except FileExistsError:
            raise issues.AUTHORITY_EXISTS.error(place=self.directory) from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=self.directory, reason=error.strerror) from error

    def load(self) -> Authority:
        """Raises NotFoundError CA-001 if there is none, UnavailableError CA-003 if it cannot be used."""
        with self._explained():
            if not self.directory.is_dir() or not any(self.directory.iterdir()):
                raise issues.NO_AUTHORITY.error(place=self.directory)
        key = self._load_key(self.key)
        with self._explained():
            trusted = x509.load_pem_x509_certificates(self.certificate.read_bytes())
            chain, imported = (
                x509.load_pem_x509_certificates(path.read_bytes()) if path.exists() else []
                for path in (self.chain, self.imported)
            )
        own = [certificate for certificate in trusted if certificate.public_key() == key.public_key()]
        if not isinstance(key, ec.EllipticCurvePrivateKey) or not own:
            raise issues.AUTHORITY_DAMAGED.error(
                place=self.directory, reason="key and certificate do not belong together"
            )
        others = [certificate for certificate in trusted if certificate is not own[0]]
        return Authority(key, own[0], others, chain, imported)

    def load_imported_nodes(self) -> frozenset[str]:
        """The fingerprints of the imported certificates. Raises what `load` raises."""
        with self._explained():
            if not self.imported.exists():
                return frozenset()
            return frozenset(self.imported_nodes.read_text(encoding="ascii").split())

    def load_seal_key(self) -> Ed25519PrivateKey:
        """Raises what `load` raises."""
        key = self._load_key(self.seal_key)
        if not isinstance(key, Ed25519PrivateKey):
            raise issues.AUTHORITY_DAMAGED.error(place=self.directory, reason="seal-key.pem is not a key of seals")
        return key

    @property
    def is_encrypted(self) -> bool:
        """Whether the key that signs is encrypted at rest. Raises UnavailableError CA-003 or CA-014."""
        with self._explained():
            return b"BEGIN ENCRYPTED PRIVATE KEY" in self.key.read_bytes()

    @property
    def needs_passphrase(self) -> bool:
        """Whether there is a key that signs, and it is encrypted at rest. Raises UnavailableError CA-003."""
        with self._explained():
            return self.key.exists() and self.is_encrypted

    def encrypt(self, passphrase: bytes | None) -> None:
        """Write the keys again, encrypted by another passphrase, or not encrypted. A crash may leave some keys as they were."""
        keys = [(path, self._load_key(path)) for path in (self.key, self.next_key, self.seal_key) if path.exists()]
        for path, key in keys:
            assert isinstance(key, ec.EllipticCurvePrivateKey | Ed25519PrivateKey), "the directory has no others"
            write_private(path, certificates.private_pem(key, passphrase))
        self._passphrase = passphrase

    def _load_key(self, path: Path) -> PrivateKeyTypes:
        with self._explained():
            data = path.read_bytes()
            if b"BEGIN ENCRYPTED PRIVATE KEY" not in data:
                return serialization.load_pem_private_key(data, password=None)
            if self._passphrase is None:
                raise issues.NO_PASSPHRASE.error(path=path)
            try:
                return serialization.load_pem_private_key(data, self._passphrase)
            except ValueError:
                raise issues.WRONG_PASSPHRASE.error(path=path) from None

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Raises UnavailableError CA-003 or CA-014 for what prevents the use of a file."""
        try:
            yield
        except FileNotFoundError as error:
            missing = Path(error.filename).name
            raise issues.AUTHORITY_DAMAGED.error(place=self.directory, reason=f"{missing} is missing") from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=self.directory, reason=error.strerror) from error
        except (ValueError, TypeError):
            raise issues.AUTHORITY_DAMAGED.error(
                place=self.directory, reason="a file is not a key or certificate in PEM"
            ) from None

    @property
    def is_prepared(self) -> bool:
        """Whether a successor is prepared that does not sign yet."""
        with self._explained():
            return self.next_key.exists()

    @property
    def stamps(self) -> FileStamps:
        """Values that change when any of the files does."""
        paths = (self.key, self.next_key, self.certificate, self.imported, self.imported_nodes, self.chain)
        return tuple(map(_stamp, paths))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the directory. Raises ConflictError CA-012 if another process holds the lock."""
        handle = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise issues.ROTATION_IN_PROGRESS.error(state="another process is changing it right now") from None
        except OSError as error:
            raise issues.AUTHORITY_UNREADABLE.error(place=self.directory, reason=error.strerror) from error
        finally:
            os.close(handle)

    def prepare(self, successor: Authority, signature: x509.Certificate) -> None:
        """Make a successor trusted; it does not sign yet."""
        current = self.load()
        write_private(self.chain, _pem([signature]))
        write_private(self.certificate, _pem([current.certificate, successor.certificate]))
        # Last: this file marks a prepared successor. After a crash before it, one certificate too many is trusted until `retire`.
        write_private(self.next_key, certificates.private_pem(successor.key, self._passphrase))

    def switch(self) -> None:
        """Let the successor sign. This destroys the previous key."""
        self.next_key.replace(self.key)
        write_private(self.certificate, self.load().pem.encode())

    def retire(self) -> None:
        """Trust only the current authority. The chain to a root above it stays."""
        current = self.load()
        write_private(self.certificate, _pem([current.certificate]))
        self.imported.unlink(missing_ok=True)
        self.imported_nodes.unlink(missing_ok=True)
        if current.certificate not in current.chain:
            self.chain.unlink(missing_ok=True)

    def install(self, chain: Sequence[x509.Certificate]) -> None:
        """Use the first of these certificates, which the others sign, instead of the present one, which stays trusted."""
        current = self.load()
        roots = [each for each in chain if each.issuer == each.subject]
        write_private(self.chain, _pem([each for each in chain if each not in roots]))
        write_private(self.certificate, _pem([chain[0], current.certificate]))


def _pem(chain: Sequence[x509.Certificate]) -> bytes:
    return "".join(map(certificates.certificate_pem, chain)).encode()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


class LoadedAuthority:
    """The authority as this process has loaded it; other processes may change the directory."""

    def __init__(self, files: AuthorityFiles) -> None:
        """Raises what `AuthorityFiles.load` raises."""
        self.files = files
        self._stamps = files.stamps
        self.current, self._imported_nodes = files.load(), files.load_imported_nodes()

    def reload(self) -> bool:
        """Load the files again if they have changed; returns whether they have. Raises what `load` raises: then nothing changes here."""
        stamps = self.files.stamps
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        self.current, self._imported_nodes = self.files.load(), self.files.load_imported_nodes()
        return True

    def find_issuers(self, certificate: x509.Certificate) -> list[x509.Certificate]:
        """The authorities whose certificate of a node this is, as `Authority.find_issuers`; of an imported one, only what was imported."""
        authority = self.newest()
        issuers = authority.find_issuers(certificate)
        if certificates.fingerprint(certificate) in self._imported_nodes:
            return issuers
        return [issuer for issuer in issuers if issuer not in authority.imported]

    def newest(self) -> Authority:
        """Return the authority to sign with: never a key that another process has just replaced."""
        with contextlib.suppress(
            PrecastError
        ):  # the directory may be partly restored; the loaded authority is still valid
            self.reload()
        return self.current
