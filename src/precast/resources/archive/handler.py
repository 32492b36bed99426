"""archive: a file that is downloaded once, and what is extracted from it.

A file that `creates` names tells that the archive has been extracted: then the archive itself may be absent. Else the archive must be
there with its checksum, if one is given. The download goes into an unnamed temporary file, is verified there, and replaces the archive
atomically.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from os import fchmod, fstat
from typing import Any, BinaryIO, Final
from urllib.parse import unquote, urlsplit

from precast.base.scrubbing import REDACTED
from precast.resources import issues, issues_system, properties
from precast.resources import issues_modules as own_issues
from precast.resources.archive import download
from precast.resources.archive.extraction import make_command
from precast.resources.contract import Change, DesiredResource, Handler, ManagedNode, State
from precast.resources.files import atomic_writes, checksums, parameters, safe_paths, safe_reads, small_files
from precast.resources.properties import ABSENT, PRESENT

_MODE: Final = 0o644
_EXTRACT_S: Final = 3600.0
_DIGITS: Final = re.compile(r"\b[0-9a-fA-F]{32,128}\b")
_TYPES: Final = ("none", "md5", "sha1", "sha2", "sha256", "sha384", "sha512")
# Names that another module had for the same parameters.
_ALIASES: Final = {
    "source": "url",
    "extract_path": "target",
    "checksum": "digest_string",
    "checksum_url": "digest_url",
    "checksum_type": "digest_type",
}
_NOT_EXTRACTED: Final = "archive not extracted"


class Archive(Handler):
    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        super().__init__(resource, node)
        self._path = parameters.path_of(resource)
        self._is_absent = parameters.choice(resource, "ensure", (PRESENT, ABSENT)) == ABSENT
        self._source = self._given("source")
        self._is_extracted = properties.read_boolean(resource, "extract")
        self._place = self._given("extract_path")
        self._creates = resource.get("creates")
        for name, path in (("extract_path", self._place), ("temp_dir", resource.get("temp_dir"))):
            if path is not None and not str(path).startswith("/"):
                raise properties.invalid_value(resource, name, path, "it is an absolute path")
        self._is_cleaned = properties.read_boolean(resource, "cleanup", is_default=True)
        self._read_checksum()
        if self._is_extracted and node.root and not node.is_chroot:
            raise issues.NOT_UNDER_ROOT.error(type="archive", root=node.root)

    def _given(self, name: str) -> Any:
        """A parameter by its name or the one that another module had for it. Raises InputError RESOURCE-006 if they differ."""
        value, other = self.resource.get(name), self.resource.get(_ALIASES[name])
        if value is not None and other is not None and value != other:
            raise properties.invalid_value(self.resource, _ALIASES[name], other, f"the same as {name}")
        return other if value is None else value

    def _read_checksum(self) -> None:
        given = self._given("checksum")
        is_verified = properties.read_boolean(self.resource, "checksum_verify", is_default=True)
        if str(given).lower() in ("true", "false"):
            is_verified, given = str(given).lower() == "true", None
        self._checksum: str | None = None if given in (None, "", "undef") else str(given)
        if self._checksum is not None and not re.search(r"\b[0-9a-f]{5,128}\b", self._checksum):
            raise properties.invalid_value(self.resource, "checksum", self._checksum, "hexadecimal digits")
        self._checksum_url = self._given("checksum_url")
        self._type = str(self._given("checksum_type") or "none")
        if self._type not in _TYPES:
            raise properties.invalid_value(self.resource, "checksum_type", self._type, f"one of {', '.join(_TYPES)}")
        self._is_verified = is_verified and self._type != "none"
        self._has_digest = self._type != "none"

    @property
    def check_needs_trust(self) -> str:
        return "its check asks a server of the catalog" if self._checksum is None and self._checksum_url else ""

    @property
    def is_slow_to_read(self) -> bool:
        return self._has_digest

    def read(self) -> State:
        parents = safe_reads.node_parents(self.node)
        is_extracted = self._creates is not None and safe_reads.exists(parents, str(self._creates))
        has_file = safe_reads.exists(parents, self._path)
        if not has_file:
            return {"ensure": PRESENT if is_extracted and not self._is_absent else ABSENT, "creates": self._creates}
        digest = self._digest_of_file() if self._has_digest else None
        ensure = PRESENT if digest is None or digest == self._wanted_digest() else ABSENT
        creates = _NOT_EXTRACTED if self._is_extracted and not is_extracted else self._creates
        return {"ensure": ensure, "creates": creates, "digest": digest}

    def _digest_of_file(self) -> str:
        with closing(safe_reads.open_stream(safe_reads.node_parents(self.node), self._path, is_followed=True)) as file:
            return self._digest(file)

    def _digest(self, file: BinaryIO) -> str:
        return checksums.of_stream("sha256" if self._type == "sha2" else self._type, file).partition("}")[2]

    def _wanted_digest(self) -> str | None:
        """The checksum that is given, or the one that a server has. Raises UnavailableError RESOURCE-119."""
        if self._checksum is None and self._checksum_url is not None:
            with tempfile.TemporaryFile() as file:
                download.fetch(str(self._checksum_url), self._access, file, download.MAX_TEXT_BYTES)
                file.seek(0)
                found = _DIGITS.search(file.read().decode(errors="replace"))
            self._checksum = None if found is None else found[0]
        return self._checksum

    @property
    def _access(self) -> download.Access:
        given = {name: self.resource.get(name) for name in ("username", "password", "cookie")}
        proxy = self.resource.get("proxy_server")
        if proxy is not None and "://" not in str(proxy):
            proxy = f"{self.resource.get('proxy_type', 'http')}://{proxy}"
        is_insecure = properties.read_boolean(self.resource, "allow_insecure")
        texts = {name: None if value is None else str(value) for name, value in given.items()}
        return download.Access(**texts, proxy=proxy, is_insecure=is_insecure)

    def compare(self, state: State) -> Sequence[Change]:
        if self._is_absent:
            text = f"remove archive: {self._path} "
            return (Change("ensure", PRESENT, ABSENT, text),) if state["ensure"] != ABSENT else ()
        if state["ensure"] == ABSENT:
            return (Change("ensure", ABSENT, PRESENT, self._message(state.get("digest"))),)
        if self._creates is None or state["creates"] == self._creates:
            return ()
        wanted = f"extracting in {self._place} to create {self._creates}"
        text = properties.change_message("creates", f"'{_NOT_EXTRACTED}'", wanted)
        return (Change("creates", _NOT_EXTRACTED, self._creates, text),)

    def _message(self, former_digest: str | None) -> str:
        if former_digest is not None:
            before, after = (f"({self._type}){digest}" for digest in (former_digest, self._checksum or ""))
            return f"replace archive: {self._path} from {before} to {after}"
        extracted = f"and extracted in {self._place}" if self._is_extracted else ""
        is_hidden = not self.hidden_properties.isdisjoint(("source", "url"))
        source = REDACTED if is_hidden else download.hide_account(str(self._source or ""))
        return f"download archive from {source} to {self._path} {extracted} {'with' if self._is_cleaned else 'without'} cleanup"

    def apply(self, change: Change) -> None:
        if change.desired == ABSENT and change.property == "ensure":
            small_files.remove_file(self.node, self._path)
            return
        if change.property == "creates":
            self._extract()
            return
        if self.read()["ensure"] == ABSENT:
            self._transfer()
        self._extract()
        if self._is_cleaned and self._creates is not None and self._exists(str(self._creates)):
            small_files.remove_file(self.node, self._path)

    def _exists(self, path: str) -> bool:
        return safe_reads.exists(safe_reads.node_parents(self.node), path)

    def _transfer(self) -> None:
        """Put the file in its place. Raises UnavailableError RESOURCE-119, InputError RESOURCE-114, and as reading a source does."""
        with self._opened_source() as (file, mode):
            if self._is_verified:
                found, wanted = self._digest(file), self._wanted_digest()
                if found != wanted:
                    raise own_issues.WRONG_DOWNLOAD.error(path=self._path, found=found, wanted=wanted or "none")
                file.seek(0)
            parents = safe_paths.parent_cache(self.node)
            atomic_writes.make_directories(parents, self._path.rpartition("/")[0], 0o755)
            with parents.opened(self._path) as (directory, name):
                atomic_writes.write(directory, name, file, mode=mode, uid=-1, gid=-1)
        safe_paths.flush_later(self.node, self._path)

    @contextmanager
    def _opened_source(self) -> Iterator[tuple[BinaryIO, int]]:
        """The content, and the mode that the archive gets: that of a copied file, else the default."""
        source = str(self._source or "")
        if not source:
            raise issues.MISSING_VALUE.error(name="source", reason="the archive is not there yet", type="archive")
        if source.startswith("puppet:"):
            with self.node.content(self._pinned(source)) as pinned:
                yield pinned, _MODE
        elif source.startswith(("http:", "https:")):
            with tempfile.TemporaryFile(dir=self._temporary_directory()) as file:
                download.fetch(source, self._access, file)
                file.seek(0)
                yield file, _MODE
        else:
            path = unquote(urlsplit(source).path) if source.startswith("file:") else source
            parents = safe_reads.node_parents(self.node)
            if not safe_reads.exists(parents, path):
                raise own_issues.NO_ARCHIVE.error(source=source)
            with safe_reads.open_stream(parents, path, is_followed=True) as stream:
                yield stream, fstat(stream.fileno()).st_mode & 0o755

    def _pinned(self, source: str) -> str:
        digest = self.node.pinned(source)
        if digest is None:
            raise own_issues.NO_ARCHIVE.error(source=source)
        return digest

    def _temporary_directory(self) -> str | None:
        given = self.resource.get("temp_dir")
        if given is None:
            return None
        if not safe_reads.is_directory(safe_reads.node_parents(self.node), str(given)):
            raise own_issues.NO_ARCHIVE.error(source=f"the directory {given}")
        return self.node.path(str(given))

    def _extract(self) -> None:
        if not self._is_extracted:
            return
        if self._place is None:
            raise issues.MISSING_VALUE.error(
                name="extract_path", reason="the archive is to be extracted", type="archive"
            )
        user, group = self.resource.get("user"), self.resource.get("group")
        is_handed_over = user is not None or group is not None
        # The command reads the archive by its path, as root: never one that another user put there.
        parents = safe_reads.node_parents(self.node)
        with safe_reads.open_file(parents, self._path, is_followed=not is_handed_over) as (handle, _):
            if is_handed_over:
                fchmod(handle, _MODE)  # so that the user can read it
        command = make_command(self._path, self.resource.get("extract_command"), self.resource.get("extract_flags"))
        result = self.node.run(
            ["/bin/sh", "-c", command],
            deadline_s=_EXTRACT_S,
            directory=str(self._place),
            user=None if user is None else str(user),
            group=None if group is None else str(group),
        )
        if not result.is_success:
            is_hidden = bool(self.resource.secrets)
            output = REDACTED if is_hidden else " ".join(result.output.split())[-500:]
            shown = REDACTED if is_hidden else command
            raise issues_system.COMMAND_FAILED.error(command=shown, code=result.exit_code, output=output)
