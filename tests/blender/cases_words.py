# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text that users see is in the file of every language, and is shown translated."""

import ast
import pathlib
import re
import string
import sys
import tempfile
import threading
from unittest import mock

import bpy
import case
from files import pmx_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The same in every language.
NAMES = {"MMD Skin", "MMD", "glTF", "FBX", "USD", "Alembic"}
# Calls that take English texts: how many of their first arguments.
TRANSLATES = {"tr": 1, "tr_count": 2, "label": 1, "UserError": 1, "Sentence": 1}
# Texts of Blender's, or of no one: file browser's fields and a property of drivers.
INHERITED = {"filepath", "check_existing", "filter_glob", "files", "directory"}


def addon():
    return sys.modules["addon_package"]


def translations():
    return addon().blender.translations


def languages():
    return addon().languages.load()


def entries(language, without=()):
    """{(context, English): translation} of a language; context "*" where the file has none."""
    return {
        (context or "*", english): translation
        for context, texts in languages()[language].items()
        for english, translation in texts.items()
        if context not in without
    }


def table(language="ja_JP"):
    """Without the native module's messages, which `Reader` tests."""
    return entries(language, without={translations().READER})


def classes():
    """Every class of the add-on that Blender has registered."""
    return [cls for kind in kinds() for cls in kind.__subclasses__() if _is_ours(cls)]


def kinds():
    names = ("Operator", "Panel", "PropertyGroup", "AddonPreferences", "FileHandler")
    return [getattr(bpy.types, name) for name in names if hasattr(bpy.types, name)]


def _is_ours(cls):
    return cls.__module__.startswith(addon().__name__ + ".") and cls.is_registered


def files():
    return sorted((pathlib.Path(addon().__file__).parent / "languages").glob("*.po"))


def rna_of(cls):
    """Blender's texts of a class and its properties."""
    if issubclass(cls, bpy.types.Operator):
        return getattr(bpy.ops.mmdskin, cls.bl_idname.partition(".")[2]).get_rna_type()
    return cls.bl_rna


def rna_texts():
    """{(context, text)} of what Blender draws for the registered classes."""
    found = set()
    for cls in classes():
        rna = rna_of(cls)
        if issubclass(cls, bpy.types.Operator):
            found |= {("Operator", cls.bl_label), ("*", rna.description)}
        elif not issubclass(cls, (bpy.types.PropertyGroup, bpy.types.AddonPreferences)):
            found.add(("*", cls.bl_label))
        kind = next(kind for kind in kinds() if issubclass(cls, kind))
        base = INHERITED.union(kind.bl_rna.properties.keys())
        for prop in rna.properties:
            if prop.identifier in base or prop.is_hidden:
                continue
            context = getattr(prop, "translation_context", "*")
            found |= {(context, prop.name), ("*", prop.description)}
            for item in getattr(prop, "enum_items", ()):
                found |= {(context, item.name), ("*", item.description)}
    # The files have no context for names.
    found = {(context.replace(translations().CONTEXT, "*"), text) for context, text in found}
    return {(context, text) for context, text in found if text and text not in NAMES}


def without_tooltip(cls):
    """What users can hover over: an operator, and the properties that are not hidden, with their items."""
    rna = rna_of(cls)
    if issubclass(cls, bpy.types.Operator) and not rna.description:
        yield "itself"
    for prop in rna.properties:
        if prop.identifier in inherited() or prop.is_hidden:
            continue
        if not prop.description:
            yield prop.identifier
        for item in getattr(prop, "enum_items", ()):
            if not item.description:
                yield f"{prop.identifier}.{item.identifier}"


def inherited():
    """Properties that Blender gives to operators, panels and others."""
    return INHERITED.union(*(kind.bl_rna.properties.keys() for kind in kinds()))


def sources():
    folder = pathlib.Path(addon().__file__).parent
    machinery = {"translations.py", "user_error.py"}
    for path in sorted(folder.rglob("*.py")):
        if path.name not in machinery and not {"wheels", "languages"} & {*path.parts}:
            yield path, ast.parse(path.read_text("utf-8"))


def source_texts():
    """{(context, text): place} of the literals that are shown."""
    found = {}
    for path, tree in sources():
        for node in ast.walk(tree):
            for context, value in _shown(node):
                for text in _literals(value):
                    found[context, text] = f"{path.name}:{node.lineno}"
    return {key: place for key, place in found.items() if key[1] and key[1] not in NAMES}


def _shown(node):
    """(context, expression) of each text that a call or an assignment shows."""
    # Extensions have no `bl_info` when they run.
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "bl_info":
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            if key.value in {"description", "location"}:
                yield "*", value
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        values = {keyword.arg: keyword.value for keyword in node.keywords}
        for text in node.args[: TRANSLATES.get(name, 0)]:
            yield "*", text
        if "text" in values:
            yield ("Operator" if name == "operator" else "*"), values["text"]
        if name.endswith("Property"):
            yield from (("*", values[key]) for key in ("name", "description") if key in values)


def _literals(value):
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield from ("f-string" for part in value.values if _has_word(part))


def _has_word(part):
    return isinstance(part, ast.Constant) and any(letter.isalpha() for letter in part.value)


def fields(text):
    return sorted((name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name)


class Table(case.Case):
    def test_every_text_of_a_class_is_translated(self):
        found = rna_texts()
        self.assertGreater(len(found), 80)
        self.assertEqual(found - table().keys(), set())

    def test_every_text_of_the_sources_is_translated(self):
        found = source_texts()
        self.assertGreater(len(found), 120)
        self.assertEqual({key: found[key] for key in found.keys() - table().keys()}, {})

    def test_every_sentence_is_made_by_tr(self):
        """Reports and other exceptions take no literals; `tr` and UserError take only literals."""
        wrong = []
        for path, tree in sources():
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call):
                    continue
                bare = _says(node) and any(_is_text(arg) for arg in node.args)
                shown = node.args[: TRANSLATES.get(getattr(node.func, "id", ""), 0)]
                if bare or not all(isinstance(text, ast.Constant) for text in shown):
                    wrong.append(f"{path.name}:{node.lineno}")
        self.assertEqual(wrong, [])

    def test_names_of_properties_and_panels_are_looked_up_in_it(self):
        context = translations().CONTEXT
        for cls in classes():
            if issubclass(cls, bpy.types.Panel):
                self.assertEqual(cls.bl_translation_context, context, cls)
            for prop in rna_of(cls).properties:
                if (
                    prop.identifier not in inherited()
                    and addon().blender.blender_versions.HAS_CONTEXTS
                ):
                    self.assertEqual(prop.translation_context, context, prop.identifier)

    def test_operators_and_their_options_have_a_tooltip(self):
        """And every setting of a model, every preference and every entry of a menu."""
        bare = {f"{cls.__name__}.{name}" for cls in classes() for name in without_tooltip(cls)}
        self.assertEqual(bare, set())

    def test_languages_have_the_same_texts(self):
        self.assertGreaterEqual(languages().keys(), {"ja_JP", "zh_HANS"})
        for language in languages():
            self.assertEqual(entries(language).keys(), entries("ja_JP").keys(), language)

    def test_placeholders_are_those_of_the_english(self):
        for language in languages():
            for (_, english), text in entries(language).items():
                with self.subTest(text):
                    self.assertEqual(fields(text), fields(english))

    def test_nothing_is_left_over(self):
        self.assertEqual(table().keys() - rna_texts() - source_texts().keys(), self.unseen())

    def unseen(self):
        """Texts that only other versions draw."""
        handlers = {("*", "MMD Model"), ("*", "MMD Motion")}
        return set() if hasattr(bpy.types, "FileHandler") else handlers

    def test_translations_are_written_as_such(self):
        for language in languages():
            for text in table(language).values():
                with self.subTest(text):
                    if language in {"ja_JP", "zh_HANS"}:
                        self.assertTrue(any(ord(letter) > 0x2E80 for letter in text))
                    self.assertFalse(text.endswith(("。", ".")), "Blender adds the stop")

    def test_no_english_text_is_there_twice(self):
        for path in files():
            texts = re.findall(r'^msgid "(?!")', path.read_text("utf-8"), re.MULTILINE)
            self.assertEqual(len(texts), len(entries(path.stem)), path.name)

    def test_every_language_is_one_that_blender_knows(self):
        known = set(bpy.app.translations.locales) | set(translations()._FORMER.values())
        if len(known) > 10:  # else built without languages
            self.assertLessEqual({path.stem for path in files()}, known)


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


def _says(call):
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name in {"report", "warn", "poll_message_set", "status_text_set"} or (
        name.endswith("Error") and name != "UserError"
    )


def _is_text(value):
    if isinstance(value, ast.JoinedStr):
        return any(_has_word(part) for part in value.values)
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


class Sentences(case.Case):
    """In every Blender, also those that were built without languages."""

    def speak(self, locale):
        module = translations()
        module._locale = locale
        self.addCleanup(module.follow)
        patch = mock.patch.object(module, "follow")
        patch.start()
        self.addCleanup(patch.stop)

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


class Reader(case.Case):
    """The module's messages about files, from its sources: each is known, with its numbers."""

    def setUp(self):
        super().setUp()
        module = translations()
        module._locale = "ja_JP"
        self.addCleanup(module.follow)
        patch = mock.patch.object(module, "follow")
        patch.start()
        self.addCleanup(patch.stop)

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
        of = addon().blender.reader_texts.sentence
        for text in sentences:
            said = text.replace("%s", "bones")
            said = re.sub(r"%\w*[dug]", "7", said)
            self.assertNotRegex(of(ValueError(said)), r"[a-z]{5}", said)
            self.assertEqual(of(ValueError(said)).count("7"), said.count("7"), said)
        for name in names - {"ik", "Bone", "Morph"}:
            self.assertNotRegex(of(ValueError(name)), r"[a-z]{5}", name)

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
                    text = addon().blender.reader_texts.sentence(error)
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
