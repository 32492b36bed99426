"""URI, and the escaping of CGI and ERB::Util."""

import re
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus

from precast.lang.ruby.errors import raised
from precast.lang.ruby.execution import Execution
from precast.lang.ruby.methods.dispatch import kernel_function, method, of_class, plain_text, to_str
from precast.lang.ruby.objects import Constant, Proc
from precast.lang.ruby.values import Instance, Symbol

Args = list[Any]
_PORTS: Final = {"http": 80, "https": 443, "ftp": 21, "ldap": 389, "ldaps": 636, "ws": 80, "wss": 443}
_CLASSES: Final = {
    "http": "URI::HTTP",
    "https": "URI::HTTPS",
    "ftp": "URI::FTP",
    "ldap": "URI::LDAP",
    "mailto": "URI::MailTo",
    "file": "URI::File",
}
_PATTERN: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://(?:([^/?#@]*)@)?(\[[0-9A-Fa-f:.]+\]|[^/?#:\[\]@]*)(?::(\d*))?)?([^?#]*)(?:\?([^#]*))?(?:#(.*))?"
)
_INVALID: Final = re.compile(r"[\s<>\"{}|\\^`]|[^\x00-\x7f]")
_PARTS: Final = ("scheme", "userinfo", "host", "port", "path", "query", "fragment")


class RubyURI(Instance):
    """A URI by its parts."""

    kind_name = "URI::Generic"
    parent_name = "URI::Generic"

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts
        self.kind_name = _CLASSES.get(parts.get("scheme") or "", "URI::Generic")

    def text(self) -> str:
        given = self.parts
        text = f"{given['scheme']}:" if given["scheme"] else ""
        if given["opaque"] is not None:
            text += given["opaque"]
        if given["host"] is not None:
            text += "//" + (f"{given['userinfo']}@" if given["userinfo"] else "") + given["host"]
            port = given["port"]
            text += f":{port}" if port is not None and port != _PORTS.get(given["scheme"] or "") else ""
        text += given["path"] or ""
        text += f"?{given['query']}" if given["query"] is not None else ""
        return text + (f"#{given['fragment']}" if given["fragment"] is not None else "")


def parse_uri(text: str) -> RubyURI:
    """Return a URI. Raises URI::InvalidURIError."""
    match = _PATTERN.fullmatch(text)
    if match is None or _INVALID.search(text):
        raise raised("URI::InvalidURIError", f"bad URI(is not URI?): {text!r}".replace("'", '"'))
    scheme, userinfo, host, port, path, query, fragment = match.groups()
    scheme = scheme.lower() if scheme else None
    opaque = None
    if scheme and host is None and path and not path.startswith("/"):
        opaque, path = path, None
    default = _PORTS.get(scheme or "")
    number = int(port) if port else default if host is not None or scheme in _PORTS else None
    return RubyURI({
        "scheme": scheme, "userinfo": userinfo, "host": host, "port": number, "path": path, "query": query,
        "fragment": fragment, "opaque": opaque,
    })  # fmt: skip


@of_class("URI", "parse")
def _parse(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyURI:
    return args[0] if isinstance(args[0], RubyURI) else parse_uri(to_str(args[0]))


@kernel_function("URI")
def _parse_given(execution: Execution, args: Args, block: Proc | None) -> RubyURI:
    return args[0] if isinstance(args[0], RubyURI) else parse_uri(to_str(args[0]))


@of_class("URI::HTTP URI::HTTPS URI::Generic", "build")
def _build(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyURI:
    given = {key.name: value for key, value in args[0].items() if isinstance(key, Symbol)}
    scheme = {"URI::HTTP": "http", "URI::HTTPS": "https"}.get(this.name) or given.get("scheme")
    parts: dict[str, Any] = {name: given.get(name) for name in (*_PARTS, "opaque")}
    parts |= {"scheme": scheme, "path": given.get("path") or ""}
    parts["port"] = given.get("port") or _PORTS.get(scheme or "")
    return RubyURI(parts)


@of_class("URI", "join")
def _join(execution: Execution, this: Constant, args: Args, block: Proc | None) -> RubyURI:
    from urllib.parse import urljoin

    text = to_str(args[0])
    for arg in args[1:]:
        text = urljoin(text, to_str(arg))
    return parse_uri(text)


def _declare_parts() -> None:
    from precast.lang.ruby.methods.dispatch import METHODS

    table = METHODS.setdefault("URI", {})
    for name in (*_PARTS, "opaque"):
        table[name] = _reader(name)
        table[f"{name}="] = _writer(name)
    for kind in ("URI::HTTP", "URI::HTTPS", "URI::Generic", "URI::FTP", "URI::LDAP", "URI::MailTo", "URI::File"):
        METHODS[kind] = table


def _reader(name: str) -> Any:
    return lambda execution, this, args, block: this.parts[name]


def _writer(name: str) -> Any:
    return lambda execution, this, args, block: this.parts.__setitem__(name, args[0])


@method("URI", "user")
def _user(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> str | None:
    info = this.parts["userinfo"]
    return None if info is None else str(info.partition(":")[0])


@method("URI", "password")
def _password(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> str | None:
    info = this.parts["userinfo"]
    return None if info is None or ":" not in info else str(info.partition(":")[2])


@method("URI", "hostname")
def _hostname(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> str | None:
    host = this.parts["host"]
    return None if host is None else str(host).removeprefix("[").removesuffix("]")


@method("URI", "request_uri")
def _request_uri(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> str:
    query = this.parts["query"]
    return (this.parts["path"] or "/") + (f"?{query}" if query else "")


@method("URI", "to_s", "to_str")
def _to_s(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> str:
    return this.text()


@method("URI", "inspect")
def _inspect(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> str:
    return f"#<{this.kind_name} {this.text()}>"


@method("URI", "absolute?", "absolute")
def _is_absolute(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> bool:
    return this.parts["scheme"] is not None


@method("URI", "==")
def _equal(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> bool:
    return isinstance(args[0], RubyURI) and args[0].parts == this.parts


@method("URI", "kind_of?", "is_a?", "instance_of?")
def _is_a(execution: Execution, this: RubyURI, args: Args, block: Proc | None) -> bool:
    names = {this.kind_name, "URI::Generic", "Object", *(("URI::HTTP",) if this.kind_name == "URI::HTTPS" else ())}
    return isinstance(args[0], Constant) and args[0].name in names


@of_class("URI", "encode_www_form_component")
@of_class("CGI", "escape")
def _escape(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    text = to_str(args[0]) if this.name == "CGI" else plain_text(execution, args[0])
    return quote_plus(text, safe="*" if this.name == "URI" else "~*").replace("~", "%7E" if this.name == "URI" else "~")


@of_class("URI", "decode_www_form_component")
@of_class("CGI", "unescape")
def _unescape(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return unquote_plus(to_str(args[0]))


@of_class("ERB::Util", "url_encode", "u")
def _url_encode(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return quote(plain_text(execution, args[0]), safe="~")


@of_class("URI URI::DEFAULT_PARSER", "escape", "encode")
def _escape_uri(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return quote(to_str(args[0]), safe=";/?:@&=+$,[]!~*'()%-_.")


@of_class("URI URI::DEFAULT_PARSER", "unescape", "decode")
def _unescape_uri(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    return unquote(to_str(args[0]))


@of_class("URI", "encode_www_form")
def _encode_form(execution: Execution, this: Constant, args: Args, block: Proc | None) -> str:
    pairs = args[0].items() if isinstance(args[0], dict) else args[0]
    return "&".join(
        f"{_escape(execution, this, [key], None)}={_escape(execution, this, [value], None)}" for key, value in pairs
    )


@of_class("URI", "decode_www_form")
def _decode_form(execution: Execution, this: Constant, args: Args, block: Proc | None) -> list[Any]:
    return [list(pair) for pair in parse_qsl(to_str(args[0]), keep_blank_values=True)]


_declare_parts()
