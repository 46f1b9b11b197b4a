"""Lock files: which version of a package they hold, and on which line. They can be huge: searched, not parsed."""

from __future__ import annotations

import re

from swarmlore.formats.manifests import line_at

_NEAR = 600  # characters behind a name in which its version stands
_VERSION = r"""[\s"':=]{0,8}v?(\d[\w.+-]{0,40})"""

# Of each file: what opens the entry of a package ({} is its name), and what stands before its version.
LOCKS = {
    "package-lock.json": ('"node_modules/{}": {{', '"version":'),
    "npm-shrinkwrap.json": ('"node_modules/{}": {{', '"version":'),
    "pnpm-lock.yaml": ("\n      {}:\n        specifier:", "\n        version:"),
    "yarn.lock": ("\n{}@", "version"),
    "bun.lock": ('"{}": ["{}@', ""),
    "uv.lock": ('\nname = "{}"\n', "version ="),
    "poetry.lock": ('\nname = "{}"\n', "version ="),
    "Cargo.lock": ('\nname = "{}"\n', "version ="),
    "Pipfile.lock": ('"{}": {{', '"version": "=='),
    "Gemfile.lock": ("\n    {} (", ""),
    "composer.lock": ('"name": "{}",', '"version":'),
    "mix.lock": ('"{}": {{:hex, :{}, ', ""),
    "pubspec.lock": ("\n  {}:\n", "version:"),
}
_OTHER_FORMS = {
    "pnpm-lock.yaml": (
        "\n      '{}':\n        specifier:",
        "\n  {}:\n    specifier:",
        "\n  /{}@",
        "\n  '{}@",
        "\n  {}@",
    ),
    "yarn.lock": ('\n"{}@',),
}


def held(text: str, name: str, lock: str) -> tuple[str, int]:
    """The version that a lock file holds of a package, and its line; ('', 0) where it has none."""
    opening, before = LOCKS[lock]
    for form in (opening, *_OTHER_FORMS.get(lock, ())):
        start = text.find(form.format(name, name))
        if start < 0:
            continue
        at = start + len(form.format(name, name))
        inline = form.endswith("@") and lock == "pnpm-lock.yaml"
        if before and not inline:
            near = text.find(before, at - 1, at + _NEAR)
            if near < 0:
                continue
            at = near + len(before)
        if found := re.compile(_VERSION).match(text, at):
            return found[1].rstrip(".-+"), line_at(text, start + 1)
    return "", 0
