# SPDX-License-Identifier: Apache-2.0
"""A pseudo terminal's other side, as much of it as the program may use."""

import re

CONTROL = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])")


class Screen:
    """As much of a terminal as the view may use; else a test fails, as with a line that is full."""

    MODES = ("7",)  # private ones that may be set and reset

    def __init__(self, test, columns, rows):
        self.test, self.columns, self.rows = test, columns, rows
        self.lines, self.row, self.column, self.scrolled = [""] * rows, 0, 0, []

    def feed(self, text):
        while text:
            match = CONTROL.match(text)
            if match:
                self.control(*match.groups())
                text = text[match.end():]
            else:
                self.put(text[0])
                text = text[1:]

    def control(self, private, number, letter):
        here = self.lines[self.row]
        if letter == "A":
            self.row = max(self.row - int(number or 1), 0)
        elif letter == "K" and not number:
            self.lines[self.row] = here[:self.column]
        elif letter == "J" and not number:
            self.lines[self.row:] = [here[:self.column]] + [""] * (self.rows - self.row - 1)
        else:
            self.test.assertIn((private, letter), {("", "m"), ("?", "h"), ("?", "l")})
            if private:
                self.test.assertIn(number, self.MODES)

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == self.rows:
                self.row -= 1
                self.scrolled.append(self.lines.pop(0))
                self.lines.append("")
        else:
            self.test.assertTrue(character.isprintable(), ascii(character))
            self.test.assertLess(self.column, self.columns - 1, f"too long: {self.lines[self.row]}")
            here = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = here[:self.column] + character + here[self.column + 1:]
            self.column += 1


class FullScreen(Screen):
    """One that a program has for itself: an alternate screen, and no cursor to be seen."""

    MODES = ("7", "25", "1049")

    def __init__(self, test, columns, rows):
        super().__init__(test, columns, rows)
        self.is_alternate, self.pictures = False, 0

    def control(self, private, number, letter):
        if (private, number, letter) == ("", "", "H"):
            self.row = self.column = 0
            self.pictures += 1
            return
        super().control(private, number, letter)
        if private and number == "1049":
            self.is_alternate = letter == "h"
            self.kept, self.lines = (self.lines, [""] * self.rows) if self.is_alternate else \
                (self.lines, self.kept)

    def put(self, character):
        # A picture may fill its line: with wrapping off nothing moves. Other text is wrapped.
        if character.isprintable() and not self.is_alternate and self.column == self.columns:
            self.put("\n")
            self.column = 0
        self.columns += 1
        super().put(character)
        self.columns -= 1
