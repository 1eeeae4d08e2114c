// SPDX-License-Identifier: Apache-2.0
// One line of a display: pieces of text, each with a style, whose width is known. Invariant: every
// code point takes one column and no piece holds control characters, so a line that fits never
// wraps and never moves the cursor. Any lane; cost: one string a piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearsay::runtime {

enum class Style { plain, dim, bold, good, busy, waiting, bad };

class StyledLine {
 public:
  // The text is our own or went through printable(): one column a code point.
  void add(std::string_view text, Style style = Style::plain);
  // In a field of `width` columns; a text that is wider is cut.
  void add_left(std::string_view text, int width, Style style = Style::plain);
  void add_right(std::string_view text, int width, Style style = Style::plain);
  void gap(int columns);
  void append(const StyledLine& other);

  int columns() const noexcept { return columns_; }
  void clip(int columns);     // cuts off what is beyond
  std::string plain() const;  // without styles and trailing blanks
  std::string ansi() const;   // with colours, without trailing blanks; ends in the normal style

 private:
  struct Piece {
    std::string text;
    Style style;
  };
  std::vector<Piece> pieces_;
  int columns_ = 0;
};

int columns_of(std::string_view text);                               // its code points
std::string_view first_columns(std::string_view text, int columns);  // a prefix, in whole ones
std::string printable(std::string_view text);  // other people's text: '?' for all but ASCII
// Broken at blanks where possible, into lines of at most `columns` >= 1.
std::vector<std::string> broken_into(std::string_view text, int columns);

}  // namespace hearsay::runtime
