# SPDX-License-Identifier: GPL-3.0-or-later
"""Translations of all texts that users read; `languages` has the catalogues.

Blender translates names and descriptions that it draws. `tr` translates sentences, `label` labels.
Names have a context of their own, since Blender's own catalogue would win otherwise.
"""

import threading
from collections.abc import Callable
from typing import Any

import bpy

from .. import languages
from . import ADDON, blender_versions

CONTEXT = "MMD Skin"  # of the names of properties and panels
READER = "Reader"  # the context of the native module's messages about files

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}
_FORMER = {"zh_CN": "zh_HANS"}  # name of a language before Blender 4.0: its name now
_languages = languages.load()
_locale = ""  # the user's; "" if sentences stay English


def tr(sentence: str, /, **values: object) -> str:
    """The sentence in the user's language with its {fields} filled in; on any thread.

    Blender prints reports: what would control a terminal in the name of a file is escaped."""
    shown = {
        name: str(value).translate(_ESCAPES) if isinstance(value, (str, Exception)) else value
        for name, value in values.items()
    }
    return texts().get(sentence, sentence).format(**shown)


class Sentence:
    """A sentence that is stored, and translated when it is shown."""

    def __init__(self, sentence: str, /, **values: object) -> None:
        self._sentence, self._values = sentence, values

    def __str__(self) -> str:
        return self.filled()

    def filled(self, **values: object) -> str:
        """Translated, with more of its fields."""
        return tr(self._sentence, **self._values, **values)


class Reports:
    """Base class of operators, and of what reports for them: as Blender's `report`, but translated.

    `many` is the plural of a sentence with a {count}.
    """

    report: Callable[[set[Any], str], None]

    def inform(self, sentence: str, many: str = "", /, **values: Any) -> None:
        self.report({"INFO"}, tr_count(sentence, many, **values))

    def caution(self, sentence: str, many: str = "", /, **values: Any) -> None:
        self.report({"WARNING"}, tr_count(sentence, many, **values))


def tr_count(one: str, many: str, /, count: int = 1, **values: object) -> str:
    """`tr` of the singular or the plural; fills in {count}."""
    return tr(one if count == 1 else many or one, count=count, **values)


def texts(context: str = "") -> dict[str, str]:
    """{English: translation} of a context; empty if the user reads English."""
    follow()
    return _languages.get(_FORMER.get(_locale, _locale), {}).get(context, {})


def label(text: str, /, **values: object) -> str:
    """An interface text in the user's language, to draw with `translate=False`; only while drawing."""
    return bpy.app.translations.pgettext_iface(text, CONTEXT).format(**values)


def name_of(owner: bpy.types.bpy_struct, identifier: str) -> str:
    """The translated name of a property."""
    return label(owner.bl_rna.properties[identifier].name)


def follow() -> None:
    """Store the user's language: outside the main thread, Blender always reports English."""
    global _locale
    if threading.get_ident() == threading.main_thread().ident:
        wanted = blender_versions.reports_are_translated()
        _locale = bpy.app.translations.locale if wanted else ""


def register() -> None:
    unregister()
    tables = {locale: _for_blender(_languages[locale]) for locale in _languages}
    tables |= {former: tables[locale] for former, locale in _FORMER.items()}
    bpy.app.translations.register(ADDON, tables)
    follow()


def unregister() -> None:
    bpy.app.translations.unregister(ADDON)


def _for_blender(language: dict[str, dict[str, str]]) -> dict[tuple[str, str], str]:
    """{(context, English): translation} of the texts that Blender draws."""
    return {
        (place, english): translation
        for context in language.keys() - {READER}
        for english, translation in language[context].items()
        for place in ([context] if context else ["*", CONTEXT])
    }
