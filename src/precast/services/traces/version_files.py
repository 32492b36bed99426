"""The files of one version of an environment, known by the digests of its tree; a content is loaded when it is read."""

from collections.abc import Callable, Mapping

from precast.base import digests
from precast.lang.file_trees import FileStore
from precast.lang.inputs import ABSENT, Answer


class _DirectoryNames:
    """The directories of a tree, derived from the paths of its files."""

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
        raise AssertionError(f"{path} is read by its digest")

    def names(self, path: str) -> tuple[str, ...] | None:
        return self._folders.get(path)


class VersionFiles(FileStore):
    """Answers like the files of a directory, and loads only the contents that are read."""

    def __init__(self, files: Mapping[str, digests.Digest], load: Callable[[digests.Digest], bytes]) -> None:
        super().__init__(_DirectoryNames(files))
        self._files = dict(files)
        self._load = load
        self._loaded: dict[digests.Digest, bytes] = {}

    def digest(self, path: str) -> Answer:
        return self._files.get(path, ABSENT)

    def content(self, digest: digests.Digest) -> bytes:
        content = self._loaded.get(digest)
        if content is None:
            content = self._loaded[digest] = self._load(digest)
        return content
