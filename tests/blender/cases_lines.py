# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences are wrapped to the width of the sidebar, in every language."""

import sys

import case


def addon():
    return sys.modules["addon_package"]


class Lines(case.Case):
    """Sentences in a narrow sidebar."""

    def lines(self, text, room):
        found = addon().ui.drawing.lines(text, room)
        self.assertEqual("".join(found).replace(" ", ""), text.replace(" ", ""))
        return found

    def test_english(self):
        self.assertEqual(self.lines("one two three", 8), ["one two", "three"])

    def test_japanese_without_spaces(self):
        self.assertEqual(self.lines("先に保存。次へ行く", 8), ["先に保", "存。次へ", "行く"])

    def test_chinese_with_words(self):
        text = "“model”有 2 个骨架修改器：只允许有一个"
        for line in self.lines(text, 16):
            self.assertFalse(line.startswith(("：", "”")) or line.endswith("“"), line)

    def test_a_word_that_is_longer_than_a_line(self):
        self.assertEqual(self.lines("a verylongword", 5), ["a", "verylongword"])

    def test_nothing(self):
        self.assertEqual(self.lines("", 5), [""])
