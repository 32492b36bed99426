"""Where walks and compiles get versions from: the files of a tree by path, and contents by digest."""

from precast.base.digests import Digest
from precast.services import issues
from precast.services.code.trees import Tree
from precast.store.code.blobs import Blobs


class Versions:
    """Versions of environments, from the content that is stored."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def files(self, version: str) -> dict[str, Digest]:
        """The files of a version by path. Raises UnavailableError COMPILE-004 if it is no more."""
        tree = Tree.decode(await self.content(Digest(version)))
        return {path: one.digest for path, one in tree.files.items()}

    async def content(self, digest: Digest) -> bytes:
        """A file of an environment. Raises UnavailableError COMPILE-004 if it is no more."""
        found = await self._blobs.read(digest)
        if found is None:
            raise issues.CONTENT_GONE.error(digest=digest)
        return found
