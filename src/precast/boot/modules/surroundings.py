"""Time zone, locale and keyboard: files that other programs read."""

from pathlib import Path

from precast.boot.modules import packages
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Text
from precast.resources.commands import has_program

_FIRST = (After("bootcmd", "bootcmd comes before everything that configures"),)
_ZONES = "/usr/share/zoneinfo"


def set_timezone(context: Context) -> Outcome:
    zone = context.config["timezone"]
    if zone.startswith("/") or ".." in zone.split("/"):
        context.warn(f"timezone: {zone!r} is no name of a zone")
        return context.outcome
    if context.is_there(_ZONES) and not context.is_there(f"{_ZONES}/{zone}"):
        context.warn(f"timezone: there is no zone {zone}; see {_ZONES}")
        return context.outcome
    context.make_directories("/etc")
    context.ensure("file", "/etc/localtime", {"ensure": "link", "target": f"{_ZONES}/{zone}", "force": True})
    if _is_debian(context):
        context.write("/etc/timezone", f"{zone}\n".encode())
    return context.outcome


def set_locale(context: Context) -> Outcome:
    locale = context.config.get("locale")
    if not locale or not isinstance(locale, str):
        context.outcome.not_run = "locale is false"
        return context.outcome
    default = "/etc/default/locale" if _is_debian(context) else "/etc/locale.conf"
    path = context.config.get("locale_configfile", default)
    lines = [line for line in context.read_text(path).splitlines() if not line.startswith("LANG=")]
    context.write(path, "\n".join([f"LANG={locale}", *lines, ""]).encode(errors="surrogateescape"))
    _generate(context, locale)
    return context.outcome


def _generate(context: Context, locale: str) -> None:
    """Debian makes locales on the machine; what is built in needs nothing. Raises PrecastError if its program cannot be had."""
    if locale.partition(".")[0] in ("C", "POSIX"):
        return
    if not context.is_there("/etc/locale.gen"):
        if not context.has_programs or not context.is_there("/etc/debian_version"):
            return
        packages.need(context, "locales")
    charset = locale.partition(".")[2].partition("@")[0] or "UTF-8"
    line = f"{locale} {'UTF-8' if charset.lower().replace('-', '') == 'utf8' else charset}"
    lines = context.read_text("/etc/locale.gen").splitlines()
    if line in lines:
        return
    commented = next((at for at, each in enumerate(lines) if each.lstrip("# ") == line), None)
    if commented is None:
        lines.append(line)
    else:
        lines[commented] = line
    context.write("/etc/locale.gen", ("\n".join(lines) + "\n").encode(errors="surrogateescape"))
    if context.has_programs and has_program("locale-gen", context.machine.root):
        context.run(["locale-gen"], deadline_s=600)
    else:
        context.warn(f"the locale {locale} is not made: there is no locale-gen to run")


def set_keyboard(context: Context) -> Outcome:
    given = context.config["keyboard"]
    values = {
        "XKBMODEL": given.get("model", "pc105"),
        "XKBLAYOUT": given["layout"],
        "XKBVARIANT": given.get("variant", ""),
        "XKBOPTIONS": given.get("options", ""),
        "BACKSPACE": "guess",
    }
    if any('"' in value or "\n" in value for value in values.values()):
        context.warn("keyboard: values have neither quotes nor line breaks")
        return context.outcome
    if _is_debian(context):
        text = "".join(f'{name}="{value}"\n' for name, value in values.items())
        if context.write("/etc/default/keyboard", text.encode()) and _has(context, "setupcon"):
            context.run(["setupcon", "-k", "--force"], deadline_s=60)
    else:
        text = "".join(f"{name}={values[key]}\n" for name, key in (("KEYMAP", "XKBLAYOUT"), ("XKBLAYOUT", "XKBLAYOUT")))
        context.write("/etc/vconsole.conf", text.encode())
    return context.outcome


def _has(context: Context, program: str) -> bool:
    return not context.machine.root and has_program(program)


def _is_debian(context: Context) -> bool:
    """Whether it has Debian's files: those of /etc/default."""
    return context.is_there("/etc/debian_version") or Path(context.machine.path("/etc/default")).is_dir()


MODULES = (
    Module("timezone", set_timezone, {"timezone": Text()}, after=_FIRST),
    Module(
        "locale",
        set_locale,
        {"locale": Either(Flag(), Text()), "locale_configfile": Text()},
        locks=packages.LOCKS,
        after=(*packages.AFTER, After("packages", "the program that makes locales may be one of the packages")),
        is_wanted=lambda config: "locale" in config,
    ),
    Module(
        "keyboard",
        set_keyboard,
        {
            "keyboard": Fields(
                {"layout": Text(), "model": Text(), "variant": Text(), "options": Text()}, required=("layout",)
            )
        },
        after=_FIRST,
    ),
)
