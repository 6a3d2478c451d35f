# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of languages are read, and what users see is shown translated: texts, errors, the module's messages."""

import pathlib
import re
import tempfile
import threading
from unittest import mock

import bpy
import case
from cases_words import addon, table, translations
from files import pmx_file

ROOT = pathlib.Path(__file__).resolve().parents[2]


class File(case.Case):
    """Files of languages as editors of translations write them."""

    def read(self, po):
        return addon().languages.read(po)

    def test_contexts_and_texts_on_several_lines(self):
        po = """# A comment: fuzzy
msgid ""
msgstr "Language: fr\\n"

#. Of a button.
#, python-brace-format
msgctxt "Operator"
msgid "a {b}"
msgstr ""
"un \\"{b}\\" "
"et\\tdeux"
"""
        self.assertEqual(self.read(po), {"Operator": {"a {b}": 'un "{b}" et\tdeux'}})
        self.assertEqual(self.read(po.replace("\n", "\r\n")), self.read(po))

    def test_empty_fuzzy_and_obsolete_entries_are_ignored(self):
        po = """msgid "empty"
msgstr ""

#, fuzzy, python-brace-format
msgid "guessed"
msgstr "?"

#~ msgid "gone"
#~ msgstr "!"
"""
        self.assertEqual(self.read(po), {})

    def test_a_line_that_is_none_is_named(self):
        for line in ("msgstr: no", 'msgid "open', '"alone"'):
            with self.assertRaisesRegex(ValueError, re.escape(line)):
                self.read(f'{line}\nmsgstr "a"')


class Speaking(case.Case):
    def speak(self, locale):
        module = translations()
        module._locale = locale
        self.addCleanup(module.follow)
        patch = mock.patch.object(module, "follow")
        patch.start()
        self.addCleanup(patch.stop)


class Sentences(Speaking):
    """In every Blender, also those that were built without languages."""

    def test_english_by_default(self):
        with self.assertRaises(RuntimeError) as caught:
            bpy.context.view_layer.objects.active = None
            bpy.ops.mmdskin.bake()
        self.assertIn("No active object: select an", str(caught.exception))

    def test_japanese(self):
        self.speak("ja_JP")
        self.mesh.modifiers.clear()
        self.assert_refused("「model」には「model_arm」の")

    def test_chinese(self):
        self.mesh.data.shape_keys.use_relative = False
        for locale in ("zh_CN", "zh_HANS"):
            self.speak(locale)
            self.assert_refused("“model_mesh”使用绝对形态键")

    def test_a_stored_error_follows_the_language_and_the_scene(self):
        bpy.ops.mmdskin.bake()
        with self.assertRaises(RuntimeError):
            bpy.ops.mmdskin.preview(action="ENABLE")
        self.assertEqual(case.live_errors(), ["'model' is baked: clear the bake first"])
        self.speak("ja_JP")
        self.assertIn("「model」はベイク", case.live_errors()[0])
        bpy.ops.mmdskin.clear_bake()
        self.assertEqual(case.live_errors(), [])

    def test_a_language_that_is_not_there(self):
        self.speak("fr_FR")
        self.mesh.data.shape_keys.use_relative = False
        self.assert_refused("'model_mesh' has absolute shape keys")

    def test_names_with_braces(self):
        self.mesh.name = "{name} {0} {"
        self.mesh.data.shape_keys.use_relative = False
        self.assert_refused("'{name} {0} {' has absolute shape keys")

    def test_another_thread(self):
        self.speak("ja_JP")
        self.assertEqual(in_thread("{count} meshes", count=3), "3 メッシュ")

    def test_another_thread_keeps_the_language(self):
        translations().follow()
        before = translations()._locale
        in_thread("1 mesh")
        self.assertEqual(translations()._locale, before)


class Reader(Speaking):
    """The module's messages about files, from its sources: each is known, with its numbers."""

    def setUp(self):
        super().setUp()
        self.speak("ja_JP")

    def said(self):
        """The formats of its messages, and the names of sections and counted things."""
        sentences, names = set(), set()
        for path in sorted((ROOT / "csrc/core/formats").glob("*.c")):
            code = path.read_text("utf-8")
            sentences |= set(
                re.findall(
                    r'(?:reader_fail|err, MMD_E_FORMAT)\b[^";]*"([^"%]*(?:%[^s"][^"]*|[^"]*))"',
                    code,
                )
            )
            names |= set(
                re.findall(r'(?:section|check_count|read_count|track)\([^";]*"(\w[^"]*)"', code)
            )
        return {text for text in sentences if text.strip("%s")}, names

    def test_every_sentence_and_name_is_translated(self):
        sentences, names = self.said()
        self.assertGreater(len(sentences), 12)
        self.assertGreater(len(names), 15)
        of = addon().blender.native.sentence
        for text in sentences:
            # What follows a word without a space may be nothing: "not a %s file%s".
            said = re.sub(r"\b%s", "", text).replace("%s", "bones")
            said = re.sub(r"%\w*[dug]", "7", said)
            self.assertNotRegex(of(ValueError(said)), r"[a-z]{5}", said)
            self.assertEqual(of(ValueError(said)).count("7"), said.count("7"), said)
        for name in names - {"ik", "Bone", "Morph"}:
            self.assertNotRegex(of(ValueError(name)), r"[a-z]{5}", name)

    def test_notes_of_retargeting(self):
        translated = addon().blender.native.translated
        for note in (
            "source: reference: rest pose, 5 degrees from standing upright",
            "body: lowered where a leg is too short (frames: 12, at most 0.156)",
            "hands: their gap is kept (frames: 12)",
            "scale: 1.203",
            "no bone",
            "0.31 long, on the right 0.4",
        ):
            self.assertNotRegex(translated(note), r"[a-z]{4}", note)

    def test_section_and_byte(self):
        mmdskin = addon().blender.native.load()
        for data in (
            b"",
            b"PMX 0000",
            b"Vocaloid Motion Data 0002",
            pmx_file.write(case.small_model())[:-5],
        ):
            for load in (mmdskin.load_model, mmdskin.load_motion):
                try:
                    load(data)
                except mmdskin.FormatError as error:
                    text = addon().blender.native.sentence(error)
                    self.assertRegex(text, rf"^\w+(\[\d+\])?: .*（{error.offset} バイト目）$")

    def test_of_a_file_that_is_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "cut.pmx")
            path.write_bytes(pmx_file.write(case.small_model())[:-5])
            with self.assertRaises(RuntimeError) as caught:
                bpy.ops.mmdskin.import_model(filepath=str(path))
        self.assertIn("ジョイント: ジョイント 1 個には 1 個あたり", str(caught.exception))


def in_thread(*words, **values):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(translations().tr(*words, **values)), daemon=True
    )
    thread.start()
    thread.join()
    return found[0]


class Language(case.Case):
    """As Blender shows it in another language."""

    def setUp(self):
        super().setUp()
        locales = set(bpy.app.translations.locales)
        if not locales.intersection({"ja_JP"}):
            self.skipTest("this Blender was built without languages")
        view = bpy.context.preferences.view
        names = ("language", "use_translate_interface", "use_translate_tooltips")
        names += ("use_translate_reports",) if hasattr(view, "use_translate_reports") else ()
        for name in reversed(names):
            self.addCleanup(setattr, view, name, getattr(view, name))
        for name in names[1:]:
            setattr(view, name, True)
        self.view = view
        self.chinese = "zh_HANS" if "zh_HANS" in locales else "zh_CN"

    def language_of_file(self, language):
        return translations()._FORMER.get(language, language)

    def test_names_are_our_own_where_blender_has_others(self):
        """The Chinese of Deformation in its catalogue is plasticity."""
        names = ("Deformation", "Eyes", "Baked")
        self.view.language = self.chinese
        ours = table("zh_HANS")
        for name in names:
            self.assertEqual(translations().label(name), ours["*", name])

    def shown(self, text, context="*"):
        return bpy.app.translations.pgettext_iface(text, context)

    def test_labels(self):
        self.view.language = "ja_JP"
        self.assertEqual(self.shown("MMD Skinning"), "MMD スキニング")
        self.assertEqual(self.shown("Bake MMD Skin", "Operator"), "MMD スキニングをベイク")
        self.view.language = self.chinese
        self.assertEqual(self.shown("MMD Skinning"), "MMD 蒙皮")

    def test_every_text_is_shown_in_the_language(self):
        for language in ("ja_JP", self.chinese):
            self.view.language = language
            for (context, english), text in table(self.language_of_file(language)).items():
                with self.subTest(english):
                    place = translations().CONTEXT if context == "*" else context
                    self.assertEqual(self.shown(english, place), text)

    def test_errors(self):
        bpy.context.view_layer.objects.active = None
        self.view.language = "ja_JP"
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.bake()
        self.assertIn("アクティブなオブジェクトがありません", str(caught.exception))
        self.view.use_translate_tooltips = False
        if hasattr(self.view, "use_translate_reports"):
            self.view.use_translate_reports = False
        with self.assertRaises(RuntimeError) as caught:
            bpy.ops.mmdskin.bake()
        self.assertIn("No active object", str(caught.exception))

    def test_errors_of_another_thread(self):
        self.view.language = self.chinese
        translations().follow()
        self.assertEqual(in_thread("1 mesh"), "1 个网格")

    def test_nothing_is_translated_when_the_addon_is_off(self):
        self.view.language = "ja_JP"
        self.addCleanup(addon().register)
        addon().unregister()
        self.assertEqual(self.shown("MMD Skinning"), "MMD Skinning")
        addon().register()
        addon().register()
        self.assertEqual(self.shown("MMD Skinning"), "MMD スキニング")
