#include "app/cntk/brainscript.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "core/format.hpp"

namespace paragrad::app {
namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view space = " \t\r\n";
constexpr std::string_view separators = "\r\n;,";
constexpr std::string_view opening = "[{(\"";
constexpr std::string_view closing = "]})\"";

constexpr std::size_t deepest = 100;  // blocks within each other, for each of which readers call themselves

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string_view without_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(blanks);
  const std::size_t mark = line.find('#');
  if (mark == std::string_view::npos) return line;
  // CNTK looks only at the first mark: in `a#b  # c` nothing is a comment.
  const bool comment = mark == first || is_one_of(line[mark - 1], blanks);
  return comment ? line.substr(0, mark) : line;
}

}  // namespace

bool same_key(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string printable;
  for (const char c : text.substr(0, most)) printable += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > most ? printable + "..." : printable;
}

BrainScript BrainScript::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) throw core::ConfigError(core::format("cannot read '{}', or it is empty", path));
  BrainScript script;
  script.name_ = path;
  std::istringstream lines(bytes.str());
  for (std::string line; std::getline(lines, line);) {
    if (script.text_.empty() && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // byte order mark
    script.text_.append(without_comment(line)).append("\n");
    script.line_ends_.push_back(script.text_.size() - 1);
  }
  script.match_brackets();
  return script;
}

core::ConfigError BrainScript::error(int line, std::string_view message) const {
  return core::ConfigError(core::format("{}:{}: {}", name_, line, message));
}

int BrainScript::line_of(std::size_t offset) const {
  return 1 + static_cast<int>(std::lower_bound(line_ends_.begin(), line_ends_.end(), offset) - line_ends_.begin());
}

void BrainScript::match_brackets() {
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < text_.size(); ++at) {
    const char c = text_[at];
    const bool quoted = !open.empty() && text_[open.back()] == '"';
    if (quoted ? c == '"' : is_one_of(c, "]})")) {
      if (open.empty()) throw error(line_of(at), core::format("'{}' closes nothing", c));
      const char expected = closing[opening.find(text_[open.back()])];
      if (c != expected)
        throw error(line_of(at), core::format("'{}' where the '{}' of line {} needs its '{}'", c, text_[open.back()],
                                              line_of(open.back()), expected));
      closing_[open.back()] = at;
      open.pop_back();
    } else if (!quoted && is_one_of(c, opening)) {
      if (open.size() == deepest) throw error(line_of(at), "brackets nest too deeply, as in no configuration of CNTK");
      open.push_back(at);
    }
  }
  if (!open.empty()) throw error(line_of(open.back()), core::format("this '{}' is never closed", text_[open.back()]));
}

BrainScript::Entries BrainScript::entries(std::size_t begin, std::size_t end, Rest rest) const {
  Entries found;
  for (std::size_t at = begin; at < end;) {
    if (is_one_of(text_[at], separators) || is_one_of(text_[at], blanks)) {
      ++at;
      continue;
    }
    const std::size_t stop = end_of_entry(at, end);
    Entry next = entry(at, stop);
    at = stop;
    if (!next.key.empty())
      found.push_back(std::move(next));
    else if (rest == Rest::refused)
      throw error(next.line, core::format("'{}' is not 'key = value'", shown(next.value)));
  }
  return found;
}

/// An entry ends at a separator outside brackets, or with its block, which may begin on the line after the `=`.
std::size_t BrainScript::end_of_entry(std::size_t begin, std::size_t end) const {
  bool has_key = false, valueless = false;  // valueless: behind its `=`, before its value
  for (std::size_t at = begin; at < end; ++at) {
    const char c = text_[at];
    if (c == '=' && !has_key) {
      has_key = valueless = true;
    } else if (is_one_of(c, opening)) {
      at = closing_.at(at);
      if (valueless && is_one_of(c, "[{")) return at + 1;
      valueless = false;
    } else if (is_one_of(c, separators)) {
      const std::size_t next = text_.find_first_not_of(space, at);
      if (!(valueless && next < end && is_one_of(text_[next], "[{"))) return at;
      at = next - 1;
    } else if (!is_one_of(c, space)) {
      valueless = false;
    }
  }
  return end;
}

BrainScript::Entry BrainScript::entry(std::size_t begin, std::size_t end) const {
  const std::string_view whole = trimmed(std::string_view(text_).substr(begin, end - begin));
  Entry entry;
  entry.line = line_of(begin);
  entry.value = whole;
  if (whole == "...") entry.key = whole;
  const std::size_t equals = whole.find('=');
  if (equals == std::string_view::npos || whole.find_first_of(opening) < equals) return entry;
  entry.key = trimmed(whole.substr(0, equals));
  const std::string_view value = trimmed(whole.substr(equals + 1));
  if (value.empty()) {
    entry.value.clear();
    return entry;
  }
  const auto offset = static_cast<std::size_t>(value.data() - text_.data());
  const bool enclosed = is_one_of(value[0], opening) && closing_.at(offset) == offset + value.size() - 1;
  entry.is_block = enclosed && is_one_of(value[0], "[{");
  if (entry.is_block) {
    entry.value.clear();
    entry.begin = offset + 1;
    entry.end = offset + value.size() - 1;
  } else {
    entry.value = enclosed ? trimmed(value.substr(1, value.size() - 2)) : value;
  }
  return entry;
}

}  // namespace paragrad::app
