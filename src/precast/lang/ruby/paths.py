"""Paths as Ruby's File takes them apart."""

import re


def basename(path: str, suffix: str = "") -> str:
    """The last part of a path, slashes at its end left out; without a suffix, `.*` any, if something is left then."""
    if not path:
        return ""
    name = path.rstrip("/").rpartition("/")[2] or "/"
    if suffix == ".*":
        return name.removesuffix(extname(name)) if extname(name) else name
    return name.removesuffix(suffix) if name != suffix else name


def dirname(path: str) -> str:
    """A path without its last part."""
    inner = path.rstrip("/")
    if not inner:
        return "/"
    above, slash, _ = inner.rpartition("/")
    return (re.sub("^/+", "/", above.rstrip("/")) or "/") if slash else "."


def extname(path: str) -> str:
    """The extension with its dot; a name that starts with a dot has none of its own."""
    name = path.rstrip("/").rpartition("/")[2].lstrip(".")
    stem, dot, rest = name.rpartition(".")
    return f".{rest}" if dot and stem else ""
