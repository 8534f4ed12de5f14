#include "core/names.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::core {
namespace {

constexpr std::size_t longest_compared = 100;
constexpr std::size_t shortest_abbreviation = 3;

/// Optimal string alignment distance: insertions, deletions, replacements and exchanges of neighbours that turn one string
/// into the other.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1] ? 1 : 0)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

/// A short name is close to few others, or every one would be.
std::size_t largest_distance(std::size_t letters) {
  if (letters < 2) return 0;
  return letters < 4 ? 1 : std::max<std::size_t>(2, letters / 3);
}

}  // namespace

std::string folded_name(std::string_view name) {
  std::string folded;
  for (const char c : name.substr(0, name.find_first_of(":["))) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) folded += c;
    if (c >= 'A' && c <= 'Z') folded += static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string folded = folded_name(name);
  if (folded.empty() || folded.size() > longest_compared) return "";
  std::string nearest, shortest;
  std::size_t least = largest_distance(folded.size()) + 1;
  for (const std::string& candidate : known) {
    const std::string other = folded_name(candidate);
    if (const std::size_t far = distance(folded, other); far < least) {
      least = far;
      nearest = candidate;
    }
    const bool begins = folded.size() >= shortest_abbreviation && other.starts_with(folded);
    if (begins && (shortest.empty() || candidate.size() < shortest.size())) shortest = candidate;
  }
  return nearest.empty() ? shortest : nearest;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known), all = format("known: {}", join(known, ", "));
  return near.empty() ? all : format("did you mean {}? ({})", near, all);
}

}  // namespace paragrad::core
