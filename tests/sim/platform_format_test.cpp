// sim/platform-format.md against the parser.

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "core/errors.hpp"
#include "every_key.hpp"
#include "sim/platform.hpp"
#include "temporary_folder.hpp"

namespace paragrad::sim {
namespace {

const std::string kernels = R"([[kernel]]
name = "gemm"
batch = [1, 64]
inputs = [8]
outputs = [8]
time = ["1us", "2us"]
[[kernel]]
name = "scale"
bytes = ["1kB", "1MB"]
time = ["1us", "2us"]
)";

/// A line "key = value", and the section in which it stands.
struct Line {
  std::string section;
  std::string key;
  std::string text;
};

std::vector<Line> lines_of(const std::string& file) {
  std::vector<Line> lines;
  std::istringstream input(file);
  std::string section;
  for (std::string text; std::getline(input, text);) {
    std::smatch found;
    if (std::regex_match(text, found, std::regex(R"(\[+(\w+)\]+)"))) section = found[1];
    std::string key = text.substr(0, text.find(' '));
    lines.push_back({section, text.starts_with('[') ? "" : key, text});
  }
  return lines;
}

/// What the parser says of these lines; "" if it accepts them.
std::string complaint(const std::vector<Line>& lines) {
  const test::TemporaryFolder folder;
  std::string text;
  for (const Line& line : lines) text += line.text + "\n";
  test::write_text(folder.file("some.toml"), text);
  try {
    read_platform(folder.file("some.toml"));
    return "";
  } catch (const core::ConfigError& error) {
    return error.what();
  }
}

struct Row {
  std::string section, key, by_default, meaning;
};

std::vector<Row> table() {
  std::istringstream page(test::read_text(PARAGRAD_SOURCE "/sim/platform-format.md"));
  const std::regex row(R"(\| `(\w+)` \| `(\w+)` \| [^|]+ \| ([^|]+) \| (.+) \|)");
  std::vector<Row> rows;
  std::smatch found;
  for (std::string line; std::getline(page, line);)
    if (std::regex_match(line, found, row)) rows.push_back({found[1], found[2], found[3], found[4]});
  return rows;
}

}  // namespace

TEST_CASE("the page on the platform format says which keys there are, and which of them may be missing", "[sim]") {
  const std::vector<Line> lines = lines_of(platform_with_every_key + kernels);
  REQUIRE(complaint(lines) == "");
  std::set<std::string> described, known;
  for (const Line& line : lines)
    if (!line.key.empty()) known.insert(line.section + "." + line.key);
  for (const Row& row : table()) {
    CAPTURE(row.section, row.key);
    CHECK(described.insert(row.section + "." + row.key).second);
    std::vector<Line> without = lines;
    const auto line =
        std::ranges::find_if(without, [&](const Line& one) { return one.section == row.section && one.key == row.key; });
    if (line == without.end()) continue;  // the comparison below finds it
    without.erase(line);
    const std::string what = complaint(without);
    if (row.by_default == "required")
      CHECK_THAT(what, contains_text(row.section) && contains_text(row.key));
    else
      CHECK(what.find(row.section + "." + row.key) ==
            std::string::npos);  // another key may need it: a fault of the second NIC
  }
  CHECK(described == known);
}

TEST_CASE("the page on the platform format says which sections may be missing", "[sim]") {
  const std::vector<Line> lines = lines_of(platform_with_every_key + kernels);
  std::map<std::string, std::string> meanings;
  for (const Row& row : table()) meanings[row.section] += row.meaning;
  CHECK(meanings.size() == 20);
  for (const auto& [section, meaning] : meanings) {
    CAPTURE(section);
    std::vector<Line> without = lines;
    std::erase_if(without, [&](const Line& line) { return line.section == section; });
    const bool may_be_missing =
        meaning.find("may be missing") != std::string::npos || meaning.find("[[") != std::string::npos;
    CHECK((complaint(without).find("lacks the section [" + section + "]") == std::string::npos) == may_be_missing);
  }
}

}  // namespace paragrad::sim
