"""timezone, locale and keyboard: write the files from which other programs read these settings."""

from precast.boot.modules import packages
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Text
from precast.resources.commands import has_program

_FIRST = (Predecessor("bootcmd", "bootcmd runs before every module that configures something"),)
_ZONES = "/usr/share/zoneinfo"


def set_timezone(context: ModuleContext) -> ModuleOutcome:
    zone = context.config["timezone"]
    if zone.startswith("/") or ".." in zone.split("/"):
        context.warn(f"timezone: {zone!r} is not a valid name of a time zone")
        return context.outcome
    if context.exists(_ZONES) and not context.exists(f"{_ZONES}/{zone}"):
        context.warn(f"timezone: the time zone {zone} does not exist; {_ZONES} lists the known ones")
        return context.outcome
    context.make_directories("/etc")
    context.ensure("file", "/etc/localtime", {"ensure": "link", "target": f"{_ZONES}/{zone}", "force": True})
    if _is_debian(context):
        context.write("/etc/timezone", f"{zone}\n".encode())
    return context.outcome


def set_locale(context: ModuleContext) -> ModuleOutcome:
    locale = context.config.get("locale")
    if not locale or not isinstance(locale, str):
        context.outcome.not_run = "locale is false"
        return context.outcome
    default = "/etc/default/locale" if _is_debian(context) else "/etc/locale.conf"
    path = context.config.get("locale_configfile", default)
    lines = [line for line in context.read_text(path).splitlines() if not line.startswith("LANG=")]
    context.write(path, "\n".join([f"LANG={locale}", *lines, ""]).encode(errors="surrogateescape"))
    _generate_locale(context, locale)
    return context.outcome


def _generate_locale(context: ModuleContext, locale: str) -> None:
    """Generate the locale on Debian, unless it is built in. Raises PrecastError if the package locales cannot be installed."""
    if locale.partition(".")[0] in ("C", "POSIX"):
        return
    if not context.exists("/etc/locale.gen"):
        if not context.has_programs or not context.exists("/etc/debian_version"):
            return
        packages.ensure_installed(context, "locales")
    charset = locale.partition(".")[2].partition("@")[0] or "UTF-8"
    line = f"{locale} {'UTF-8' if charset.lower().replace('-', '') == 'utf8' else charset}"
    lines = context.read_text("/etc/locale.gen").splitlines()
    if line in lines:
        return
    commented = next((index for index, old in enumerate(lines) if old.lstrip("# ") == line), None)
    if commented is None:
        lines.append(line)
    else:
        lines[commented] = line
    context.write("/etc/locale.gen", ("\n".join(lines) + "\n").encode(errors="surrogateescape"))
    if context.has_programs and has_program("locale-gen", context.machine.root):
        context.run(["locale-gen"], deadline_s=600)
    else:
        context.warn(f"the locale {locale} is not generated: locale-gen is not installed")


def set_keyboard(context: ModuleContext) -> ModuleOutcome:
    settings = context.config["keyboard"]
    values = {
        "XKBMODEL": settings.get("model", "pc105"),
        "XKBLAYOUT": settings["layout"],
        "XKBVARIANT": settings.get("variant", ""),
        "XKBOPTIONS": settings.get("options", ""),
        "BACKSPACE": "guess",
    }
    if any('"' in value or "\n" in value for value in values.values()):
        context.warn("keyboard: values must not contain quotes or line breaks")
        return context.outcome
    if _is_debian(context):
        text = "".join(f'{name}="{value}"\n' for name, value in values.items())
        if context.write("/etc/default/keyboard", text.encode()) and _has(context, "setupcon"):
            context.run(["setupcon", "-k", "--force"], deadline_s=60)
    else:
        text = "".join(f"{name}={values[key]}\n" for name, key in (("KEYMAP", "XKBLAYOUT"), ("XKBLAYOUT", "XKBLAYOUT")))
        context.write("/etc/vconsole.conf", text.encode())
    return context.outcome


def _has(context: ModuleContext, program: str) -> bool:
    return not context.machine.root and has_program(program)


def _is_debian(context: ModuleContext) -> bool:
    """Return whether the system has Debian's directory /etc/default."""
    return context.exists("/etc/debian_version") or context.exists("/etc/default")


MODULES = (
    Module("timezone", set_timezone, {"timezone": Text()}, after=_FIRST),
    Module(
        "locale",
        set_locale,
        {"locale": Either(Flag(), Text()), "locale_configfile": Text()},
        locks=packages.LOCKS,
        after=(*packages.AFTER, Predecessor("packages", "the package locales may be one of the packages")),
        has_work=lambda config: "locale" in config,
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
