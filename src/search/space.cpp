#include "search/space.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"
#include "core/philox.hpp"

namespace paragrad::search {
namespace {

bool is_whole(const std::string& text) { return text.find_first_not_of("+-0123456789") == std::string::npos; }

/// With four digits, or as many as it takes to stay between `from` and `to`.
std::string text_within(double from, double to, double value) {
  constexpr int all_digits = 17;
  value = std::clamp(value, from, to);
  for (int digits = 4;; ++digits) {
    std::string text = core::format("{:.{}g}", value, digits);
    const double rounded = *core::number_of<double>(text);
    if (digits == all_digits || (rounded >= from && rounded <= to)) return text;
  }
}

}  // namespace

std::optional<Range> Range::parse(const std::string& option, const std::string& text) {
  const auto dots = text.find("..");
  if (dots == std::string::npos) return std::nullopt;
  constexpr std::string_view ending = " log";
  Range range;
  range.logarithmic = text.ends_with(ending);
  const std::string first = text.substr(0, dots),
                    last = text.substr(dots + 2, text.size() - dots - 2 - (range.logarithmic ? ending.size() : 0));
  const auto from = core::number_of<double>(first), to = core::number_of<double>(last);
  if (!from || !to) return std::nullopt;
  range.from = *from;
  range.to = *to;
  range.whole = is_whole(first) && is_whole(last);
  if (!(range.from < range.to) || !std::isfinite(range.to - range.from))
    throw core::ConfigError(core::format("`{}`: the range {} is empty; give the smaller number first", option, text));
  if (range.logarithmic && range.from <= 0)
    throw core::ConfigError(core::format("`{}`: the range {} begins at 0 or below, which has no logarithm", option, text));
  return range;
}

std::string Range::at(double u) const {
  if (!whole) return text_within(from, to, logarithmic ? from * std::pow(to / from, u) : from + (to - from) * u);
  const double count = logarithmic ? from * std::pow((to + 1) / from, u) : from + (to + 1 - from) * u;
  return core::format("{:.0f}", std::min(std::floor(count), to));
}

void Space::add(const std::string& option, std::vector<std::string> values) {
  if (values.empty()) throw core::ConfigError(core::format("`{}` has an empty list of values", option));
  for (const Dimension& known : dimensions_)
    if (known.option == option) throw core::ConfigError(core::format("`{}` is given twice", option));
  Dimension dimension{option, std::move(values)};
  if (dimension.values.size() == 1) dimension.range = Range::parse(option, dimension.values[0]);
  dimensions_.push_back(std::move(dimension));
}

bool Space::has_ranges() const {
  for (const Dimension& dimension : dimensions_)
    if (dimension.range) return true;
  return false;
}

std::vector<std::string> Space::varied() const {
  std::vector<std::string> options;
  for (const Dimension& dimension : dimensions_)
    if (dimension.range || dimension.values.size() > 1) options.push_back(dimension.option);
  return options;
}

std::vector<Values> Space::configurations(std::size_t draws, std::uint64_t seed) const {
  std::vector<Values> grid{{}};
  for (const Dimension& dimension : dimensions_) {
    if (dimension.range) continue;
    std::vector<Values> longer;
    for (const Values& begun : grid)
      for (const std::string& value : dimension.values) {
        longer.push_back(begun);
        longer.back()[dimension.option] = value;
      }
    grid = std::move(longer);
  }
  if (!has_ranges()) return grid;
  std::vector<Values> all;
  for (const Values& combination : grid)
    for (std::size_t draw = 0; draw < draws; ++draw) {
      Values drawn = combination;
      for (std::size_t place = 0; place < dimensions_.size(); ++place)
        if (const auto& range = dimensions_[place].range)
          drawn[dimensions_[place].option] =
              range->at(core::RandomStream(seed, core::Purpose::search, static_cast<std::uint32_t>(place)).uniform(draw));
      all.push_back(std::move(drawn));
    }
  return all;
}

}  // namespace paragrad::search
