"""The parts of paths as Ruby's File returns them."""

import re


def basename(path: str, suffix: str = "") -> str:
    """Return the last part of a path, without a suffix unless the suffix is all of it. The suffix `.*` stands for any extension."""
    if not path:
        return ""
    name = path.rstrip("/").rpartition("/")[2] or "/"
    if suffix == ".*":
        return name.removesuffix(extname(name)) if extname(name) else name
    return name.removesuffix(suffix) if name != suffix else name


def dirname(path: str) -> str:
    """Return a path without its last part."""
    inner = path.rstrip("/")
    if not inner:
        return "/"
    above, slash, _ = inner.rpartition("/")
    return (re.sub("^/+", "/", above.rstrip("/")) or "/") if slash else "."


def extname(path: str) -> str:
    """Return the extension with its dot; the dot at the start of a name begins no extension."""
    name = path.rstrip("/").rpartition("/")[2].lstrip(".")
    stem, dot, rest = name.rpartition(".")
    return f".{rest}" if dot and stem else ""
