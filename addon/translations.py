# SPDX-License-Identifier: GPL-3.0-or-later
"""All that users read in their own language; `languages` has the texts.

Blender itself translates what it draws: names and descriptions. Sentences are made by `tr`, labels
by `label`. Names have a context of their own, as Blender's own catalogue goes first where it has one.
"""

import threading

import bpy

from . import blender_versions, languages

CONTEXT = "MMD Skin"  # of the names of properties and panels
READER = "Reader"  # the context of what the native module says of files

_FORMER = {"zh_CN": "zh_HANS"}  # a language's name before Blender 4.0: its name
_languages = languages.load()
_locale = ""  # the user's, "" where sentences stay English


def tr(sentence: str, /, **values: object) -> str:
    """The sentence in the user's language, its {places} filled; on any thread."""
    return texts().get(sentence, sentence).format(**values)


def texts(context: str = "") -> dict[str, str]:
    """English: what the user reads, of a context; empty where that is English."""
    follow()
    return _languages.get(_FORMER.get(_locale, _locale), {}).get(context, {})


def label(text: str, /, **values: object) -> str:
    """A text of the interface in the user's language, to be drawn as it is; only where Blender draws."""
    return bpy.app.translations.pgettext_iface(text, CONTEXT).format(**values)


def name_of(owner: bpy.types.bpy_struct, identifier: str) -> str:
    """The name of a property, as `label` gives it."""
    return label(owner.bl_rna.properties[identifier].name)


def follow() -> None:
    """Note the user's language: on other threads than the main one Blender says English always."""
    global _locale
    if threading.get_ident() == threading.main_thread().ident:
        wanted = blender_versions.reports_are_translated()
        _locale = bpy.app.translations.locale if wanted else ""


def register():
    unregister()
    tables = {locale: _for_blender(_languages[locale]) for locale in _languages}
    tables |= {former: tables[locale] for former, locale in _FORMER.items()}
    bpy.app.translations.register(__package__, tables)
    follow()


def unregister():
    bpy.app.translations.unregister(__package__)


def _for_blender(language):
    """{(context, English): translation} of what Blender draws."""
    return {
        (place, english): translation
        for context in language.keys() - {READER}
        for english, translation in language[context].items()
        for place in ([context] if context else ["*", CONTEXT])
    }
