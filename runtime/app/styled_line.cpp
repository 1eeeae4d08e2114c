// SPDX-License-Identifier: Apache-2.0
#include "runtime/app/styled_line.hpp"

#include <algorithm>

namespace hearsay::runtime {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

const char* code_of(Style style) {
  switch (style) {
    case Style::plain: return "";
    case Style::dim: return "\x1b[2m";
    case Style::bold: return "\x1b[1m";
    case Style::good: return "\x1b[32m";
    case Style::busy: return "\x1b[36m";
    case Style::waiting: return "\x1b[33m";
    case Style::bad: return "\x1b[31m";
  }
  return "";
}

void trim(std::string& text) { text.erase(text.find_last_not_of(' ') + 1); }

}  // namespace

int columns_of(std::string_view text) {
  return static_cast<int>(text.size() - std::count_if(text.begin(), text.end(), continues));
}

std::string_view first_columns(std::string_view text, int columns) {
  std::size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    if (!continues(text[end]) && ++seen > columns) break;
  }
  return text.substr(0, end);
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (continues(c)) continue;  // one '?' a character
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out;
}

std::vector<std::string> broken_into(std::string_view text, int columns) {
  std::vector<std::string> lines;
  while (columns_of(text) > columns) {
    std::string_view line = first_columns(text, columns);
    const std::size_t blank = text[line.size()] == ' ' ? line.size() : line.rfind(' ');
    if (blank != std::string_view::npos && blank > 0) line = line.substr(0, blank);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    lines.emplace_back(line);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

void StyledLine::add(std::string_view text, Style style) {
  if (text.empty()) return;
  columns_ += columns_of(text);
  if (pieces_.empty() || pieces_.back().style != style) {
    pieces_.push_back({std::string(text), style});
  } else {
    pieces_.back().text += text;
  }
}

void StyledLine::gap(int columns) {
  add(std::string(static_cast<std::size_t>(std::max(columns, 0)), ' '));
}

void StyledLine::append(const StyledLine& other) {
  for (const Piece& piece : other.pieces_) add(piece.text, piece.style);
}

void StyledLine::add_left(std::string_view text, int width, Style style) {
  const std::string_view cut = first_columns(text, width);
  add(cut, style);
  gap(width - columns_of(cut));
}

void StyledLine::add_right(std::string_view text, int width, Style style) {
  const std::string_view cut = first_columns(text, width);
  gap(width - columns_of(cut));
  add(cut, style);
}

void StyledLine::clip(int columns) {
  while (columns_ > columns && !pieces_.empty()) {
    std::string& text = pieces_.back().text;
    const int rest = columns_ - columns, width = columns_of(text);
    text.resize(first_columns(text, std::max(width - rest, 0)).size());
    columns_ -= std::min(rest, width);
    if (text.empty()) pieces_.pop_back();
  }
}

std::string StyledLine::plain() const {
  std::string line;
  for (const Piece& piece : pieces_) line += piece.text;
  trim(line);
  return line;
}

std::string StyledLine::ansi() const {
  std::string line;
  std::size_t visible = plain().size();
  for (const Piece& piece : pieces_) {
    const std::string_view text = std::string_view(piece.text).substr(0, visible);
    visible -= text.size();
    if (text.empty()) break;
    line += code_of(piece.style);
    line += text;
    if (piece.style != Style::plain) line += "\x1b[0m";
  }
  return line;
}

}  // namespace hearsay::runtime
