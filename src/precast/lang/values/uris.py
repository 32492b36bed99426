"""URI values: parsed, joined and resolved as by Puppet's URI type."""

import re
from typing import Any, Final

from precast.lang.values.base import Hash, Rich

PARTS: Final = ("scheme", "userinfo", "host", "port", "path", "query", "fragment", "opaque")
DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "ldap": 389, "ldaps": 636, "ws": 80, "wss": 443}
_SPLIT: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_AUTHORITY: Final = re.compile(r"(?:([^@]*)@)?(\[[0-9A-Fa-f:.]*\]|[A-Za-z0-9\-._~!$&'()*+,;=%]*)(?::(\d*))?")
_CHARS: Final = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=@:]|%[0-9A-Fa-f]{2})"
_PATH: Final = re.compile(rf"(?:{_CHARS}|/)*")
_QUERY: Final = re.compile(rf"(?:{_CHARS}|[/?])*")


class URI(Rich):
    """A URI by its parts; a missing part is None, and so is a port that its scheme implies."""

    __slots__ = ("_path", "_port", "fragment", "host", "opaque", "query", "scheme", "userinfo")

    def __init__(
        self,
        scheme: str | None = None,
        userinfo: str | None = None,
        host: str | None = None,
        port: int | None = None,
        path: str | None = None,
        query: str | None = None,
        fragment: str | None = None,
        opaque: str | None = None,
    ) -> None:
        self.scheme = scheme
        self.userinfo = userinfo
        self.host = host
        self._port = None if port == DEFAULT_PORTS.get(scheme or "") else port
        self._path = path
        self.query = query
        self.fragment = fragment
        self.opaque = opaque

    @classmethod
    def parse(cls, text: str) -> "URI | None":
        """Parse a URI; None if the text is not one."""
        match = _SPLIT.fullmatch(text)
        if match is None:
            return None
        scheme, authority, path, query, fragment = match.groups()
        if not _PATH.fullmatch(path) or not _QUERY.fullmatch(query or "") or not _QUERY.fullmatch(fragment or ""):
            return None
        if scheme is None and authority is None and ":" in path.partition("/")[0]:
            return None
        scheme = scheme.lower() if scheme else None
        if scheme and authority is None and not path.startswith("/"):
            opaque = path + (f"?{query}" if query is not None else "")
            return cls(scheme, opaque=opaque or None, fragment=fragment)
        if authority is None:
            return cls(scheme, path=path or None, query=query, fragment=fragment)
        authority_match = _AUTHORITY.fullmatch(authority)
        if authority_match is None or len(authority_match[3] or "") > 5:
            return None
        port = int(authority_match[3]) if authority_match[3] else None
        return cls(scheme, authority_match[1], authority_match[2] or None, port, path or None, query, fragment)

    @property
    def port(self) -> int | None:
        """The port, even if only the scheme implies it."""
        return self._port if self._port is not None else DEFAULT_PORTS.get(self.scheme or "")

    @property
    def path(self) -> str | None:
        return self._path if self._path is not None or self.opaque is not None else ""

    def parts(self) -> dict[str, Any]:
        """The explicit parts by name."""
        own = {name: getattr(self, f"_{name}" if name in ("port", "path") else name) for name in PARTS}
        return {name: value for name, value in own.items() if value is not None}

    def described(self) -> Hash:
        """Its parts as its type describes them: all strings."""
        parts = self.parts()
        return Hash.of((name, str(value).lower() if name == "host" else str(value)) for name, value in parts.items())

    def joined(self, relative: "URI") -> "URI":
        """Resolve a URI relative to this one."""
        if relative.scheme is not None:
            return relative
        if relative.host is not None:
            return URI(**{**relative.parts(), "scheme": self.scheme})
        base: dict[str, Any] = self.parts()
        base.pop("fragment", None)
        if relative._path:
            base["path"] = _dotless(_merged(self._path or "", relative._path))
            base["query"] = relative.query
        elif relative.query is not None:
            base["query"] = relative.query
        return URI(**{**base, "fragment": relative.fragment})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URI) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(("URI", str(self)))

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque is not None:
            text += self.opaque
        else:
            if self.host is not None:
                user = f"{self.userinfo}@" if self.userinfo is not None else ""
                text += f"//{user}{self.host}{f':{self._port}' if self._port is not None else ''}"
            text += self._path or ""
            if self.query is not None:
                text += f"?{self.query}"
        return text if self.fragment is None else f"{text}#{self.fragment}"


def _merged(base: str, path: str) -> str:
    return path if path.startswith("/") else f"{base.rpartition('/')[0]}/{path}"


def _dotless(path: str) -> str:
    """A path without `.` and `..` segments."""
    kept: list[str] = []
    segments = path.split("/")
    for index, segment in enumerate(segments):
        is_last = index == len(segments) - 1
        if segment == ".." and len(kept) > 1:
            kept.pop()
        elif segment not in (".", ".."):
            kept.append(segment)
        if is_last and segment in (".", ".."):
            kept.append("")
    return "/".join(kept)
