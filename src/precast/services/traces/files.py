"""The files of one version of an environment, known by the digests of its tree; a content is fetched when it is wanted."""

from collections.abc import Callable, Mapping

from precast.base import digests
from precast.lang.answers import FileStore
from precast.lang.inputs import ABSENT, Answer


class _Names:
    """The directories of a tree, made from the paths of its files."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        folders: dict[str, set[str]] = {"": set()}
        for path in paths:
            while path:
                folder, _, leaf = path.rpartition("/")
                known = folders.setdefault(folder, set())
                name = leaf + ("/" if path in folders else "")
                if name in known:
                    break
                known.add(name)
                path = folder
        self._folders = {folder: tuple(sorted(names)) for folder, names in folders.items()}

    def read(self, path: str) -> bytes | None:
        raise AssertionError(f"{path} is asked for by its digest")

    def names(self, path: str) -> tuple[str, ...] | None:
        return self._folders.get(path)


class VersionFiles(FileStore):
    """As the files of a directory, without reading what nobody wants."""

    def __init__(
        self,
        files: Mapping[str, digests.Digest],
        load: Callable[[digests.Digest], bytes],
        kept_bytes: int | None = None,
    ) -> None:
        super().__init__(_Names(files))
        self._files = dict(files)
        self._load = load
        self._loaded: dict[digests.Digest, bytes] = {}
        self._room = kept_bytes

    def digest(self, path: str) -> Answer:
        return self._files.get(path, ABSENT)

    def content(self, digest: digests.Digest) -> bytes:
        found = self._loaded.get(digest)
        if found is None:
            found = self._load(digest)
            if self._room is None or self._room >= len(found):
                self._loaded[digest] = found
                self._room = None if self._room is None else self._room - len(found)
        return found
