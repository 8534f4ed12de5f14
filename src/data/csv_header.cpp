#include "data/csv_header.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace paragrad::data {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <std::size_t Count>
bool is_one_of(std::string_view text, const std::array<std::string_view, Count>& words) {
  return std::ranges::find(words, lower_case(text)) != words.end();
}

}  // namespace

bool is_missing_value(std::string_view text) {
  constexpr std::array<std::string_view, 25> words{
      "",       "na",  "n/a",  "n.a.",    "#n/a", "#na", "<na>", "nan", "-nan",    "nat",     "nil",   "null",  "(null)",
      "<null>", "\\n", "none", "missing", "?",    "-",   "--",   ".",   "#value!", "#div/0!", "#ref!", "#null!"};
  return is_one_of(text, words);
}

bool count_up(std::span<const double> numbers) {
  if (numbers.size() < 2) return false;
  if (numbers.size() == 2) return numbers[0] == 0 && numbers[1] == 1;
  const double step = numbers[1] - numbers[0];
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (!(std::abs(numbers[i] - numbers[i - 1] - step) <= 1e-9 * std::abs(numbers[i]))) return false;
  return step > 0;
}

std::size_t column_of_labels(const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 6> words{"label", "labels", "class", "classes", "target", "y"};
  return static_cast<std::size_t>(
      std::ranges::find_if(names, [&](const std::string& name) { return is_one_of(name, words); }) - names.begin());
}

}  // namespace paragrad::data
