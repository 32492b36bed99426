"""apt_key: a key that apt trusts for every package source, in apt's own keyring, by `apt-key`.

Keyrings are read here, because `apt-key` writes files also when it only lists. A key that is given by content or source is parsed, too, and
refused unless it has the fingerprint that the resource names.
"""

import re
import tempfile
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from precast.resources import issues, issues_modules, issues_system, properties
from precast.resources.apt import openpgp
from precast.resources.archive import download
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.resources.files import safe_reads, small_files
from precast.resources.properties import ABSENT, PRESENT

_ID: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{40}|[0-9a-fA-F]{16}|[0-9a-fA-F]{8})")
_SERVER: Final = re.compile(
    r"((hkp|hkps|http|https)://)?([a-z\d])([a-z\d-]{0,61}\.)+[a-z\d]+(:\d{2,5})?(/[a-zA-Z\d\-_.]+)*/?"
)
_FULL: Final = 40
_MAX_BYTES: Final = 1 << 20
_KEYRING: Final = "/etc/apt/trusted.gpg"
_DIRECTORY: Final = "/etc/apt/trusted.gpg.d"


class AptKey(Handler):
    can_be_purged: ClassVar[bool] = True
    locks: ClassVar[tuple[str, ...]] = ("apt",)

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        if node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="apt_key", root=node.root)
        given = str(resource.get("id", resource.title))
        match = _ID.fullmatch(given)
        if match is None:
            raise properties.invalid_value(resource, "id", given, "a fingerprint of 40 hexadecimal digits, or its end")
        self.name = match[1].upper()
        if len(self.name) < _FULL:
            self.log("warning", "The id should be a full fingerprint (40 characters): a short one proves nothing.")
        self.ensure = properties.one_of(resource, "ensure", (PRESENT, ABSENT))
        self._content, self._source = resource.get("content"), resource.get("source")
        if self._content is not None and self._source is not None:
            raise properties.invalid_value(resource, "source", self._source, "given without content")
        if self._source is not None and not re.match(r"https?://|/\w", str(self._source)):
            raise properties.invalid_value(resource, "source", self._source, "an absolute path, http:// or https://")
        self._server = str(resource.get("server", "keyserver.ubuntu.com"))
        if not _SERVER.fullmatch(self._server):
            raise properties.invalid_value(resource, "server", self._server, "the name or URL of a key server")

    def read(self) -> State:
        found = self._find()
        return {"ensure": ABSENT} if found is None else {"ensure": PRESENT, "fingerprint": found}

    def _find(self) -> str | None:
        """The fingerprint of the key, if apt has it."""
        return next((each for each in _fingerprints(self.node) if each.endswith(self.name)), None)

    def compare(self, state: State) -> Sequence[Change]:
        if self.ensure is None or state["ensure"] == self.ensure:
            return ()
        return (Change("ensure", state["ensure"], self.ensure, "removed" if self.ensure == ABSENT else "created"),)

    def apply(self, change: Change) -> None:
        if change.desired == ABSENT:
            self._remove()
        elif self._content is not None:
            self._add(str(self._content).encode())
        elif self._source is not None:
            self._add(self._read_source(str(self._source)))
        else:
            options = self.resource.get("options")
            words = ["--keyserver-options", str(options)] if options is not None else []
            _run(self.node, ["adv", "--no-tty", "--keyserver", self._server, *words, "--recv-keys", self.name])

    def _remove(self) -> None:
        """Remove the key as often as apt has it: it may be in several keyrings. Raises UnavailableError RESOURCE-150."""
        for _ in range(10):
            found = self._find()
            if found is None:
                return
            _run(self.node, ["del", found[-8:]])
        raise issues_modules.STILL_TRUSTED.error(id=self.name)

    def _read_source(self, source: str) -> bytes:
        if source.startswith("/"):
            found = small_files.read_content(self.node, source)
            if found is None:
                raise issues_modules.NO_ARCHIVE.error(source=source)
            return found.data
        is_insecure = properties.read_boolean(self.resource, "weak_ssl")
        with tempfile.TemporaryFile() as file:
            download.fetch(source, download.Access(is_insecure=is_insecure), file, _MAX_BYTES)
            file.seek(0)
            return file.read()

    def _add(self, data: bytes) -> None:
        if len(self.name) == _FULL:
            try:
                found = openpgp.list_fingerprints(data)
            except ValueError as error:
                raise issues_modules.WRONG_KEY.error(id=self.name, reason=error) from None
            if self.name not in found:
                raise issues_modules.WRONG_KEY.error(id=self.name, reason=f"it has {', '.join(found) or 'no key'}")
        _run(self.node, ["add", "-"], data)

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        for fingerprint in _fingerprints(node):
            yield Instance(fingerprint, {"ensure": PRESENT})


def _fingerprints(node: ManagedNode) -> list[str]:
    """The fingerprints of all keys that apt trusts for every source, without those of their subkeys."""
    names = safe_reads.list_names(safe_reads.node_parents(node), _DIRECTORY)
    files = [_KEYRING, *(f"{_DIRECTORY}/{name}" for name in names if name.endswith((".gpg", ".asc")))]
    found: dict[str, None] = {}
    for path in files:
        content = small_files.read_content(node, path)
        if content is not None and content.data:
            found.update(dict.fromkeys(_read_keyring(path, content.data)))
    return list(found)


def _read_keyring(path: str, data: bytes) -> list[str]:
    try:
        return openpgp.list_fingerprints(data, has_subkeys=False)
    except ValueError as error:
        raise issues_modules.BAD_KEYRING.error(path=path, reason=error) from None


def _run(node: ManagedNode, arguments: list[str], stdin: bytes = b"") -> str:
    result = node.run(["apt-key", *arguments], stdin=stdin, is_split=True)
    if not result.is_success:
        errors = " ".join(result.errors.split())[-500:]
        command = f"apt-key {' '.join(arguments)}"
        raise issues_system.COMMAND_FAILED.error(command=command, code=result.exit_code, output=errors)
    return result.output
