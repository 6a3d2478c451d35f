# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text that users see is in the file of every language."""

import ast
import pathlib
import re
import string
import sys

import bpy
import case

# The same in every language.
NAMES = {"MMD Skin", "MMD", "glTF", "FBX", "USD", "Alembic"}
# Calls that take English texts: how many of their first arguments.
TRANSLATES = dict.fromkeys(("tr", "label", "UserError", "Sentence"), 1)
TRANSLATES |= dict.fromkeys(("tr_count", "inform", "caution", "tell"), 2)
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
    """Without the native module's messages, which cases_languages.py tests."""
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
        name = _name_of(node)
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


def _name_of(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _says(call):
    name = _name_of(call)
    return name in {"report", "warn", "poll_message_set", "status_text_set"} or (
        name.endswith("Error") and name != "UserError"
    )


def _is_text(value):
    if isinstance(value, ast.JoinedStr):
        return any(_has_word(part) for part in value.values)
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


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
                shown = node.args[: TRANSLATES.get(_name_of(node), 0)]
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
