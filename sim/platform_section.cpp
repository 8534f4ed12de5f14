#include "sim/platform_section.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/names.hpp"
#include "core/numbers.hpp"

namespace paragrad::sim {
namespace {

constexpr std::string_view spread_sign = "±";

/// What the file would hold for this text: a text if it is nothing else.
toml::table parsed(const std::string& value) {
  try {
    toml::table table = core::parse_toml("", core::format("value = {}", value));
    if (table.size() == 1) return table;
  } catch (const core::TomlError&) {
  }
  return toml::table{{"value", value}};
}

}  // namespace

double Section::quantity(const std::string& key, core::Unit unit, double least, double most,
                         std::optional<double> otherwise) {
  if (otherwise && !has(key)) return *otherwise;
  return parse_quantity(key, value(key).node(), unit, least, most);
}

double Section::parse_quantity(const std::string& key, const toml::node* value, core::Unit unit, double least,
                               double most) const {
  const auto text = value->value<std::string>();
  if (!text) fail(key, "write it in quotes and with its unit");
  const std::string plain = without_spread(key, *text);
  double number = 0;
  try {
    number = core::parse_quantity(plain, unit);
  } catch (const core::ConfigError& error) {
    fail(key, error.what());
  }
  if (number < least || number > most)
    fail(key, core::format("'{}' is outside {} … {}", *text, core::format_quantity(least, unit),
                           core::format_quantity(most, unit)));
  return number;
}

/// The text before ±; what stands after it is noted.
std::string Section::without_spread(const std::string& key, const std::string& text) const {
  constexpr double widest = 10'000, normal_95 = 1.959964;
  const std::size_t at = text.find(spread_sign);
  if (at == std::string::npos) return text;
  std::string_view after = std::string_view(text).substr(at + spread_sign.size());
  after.remove_prefix(std::min(after.find_first_not_of(' '), after.size()));
  const auto percent = core::leading_number<double>(after);
  if (!percent || (percent->rest != "%" && percent->rest != " %") || !(percent->value > 0 && percent->value <= widest))
    fail(key, core::format("'{}': after ± write a percentage above 0, such as 30%", text));
  (*spreads_)[core::format("{}.{}", name_, key)] = std::log1p(percent->value / 100) / normal_95;
  return text.substr(0, text.find_last_not_of(' ', at - 1) + 1);
}

double Section::time(const std::string& key, double least, std::optional<double> otherwise) {
  return quantity(key, core::Unit::time, least, 1e6, otherwise);
}

double Section::bandwidth(const std::string& key, std::optional<double> otherwise) {
  return quantity(key, core::Unit::bandwidth, 1e3, 1e18, otherwise);
}

double Section::rate(const std::string& key) { return quantity(key, core::Unit::rate, 1e6, 1e21); }

std::int64_t Section::bytes(const std::string& key, double least, std::optional<double> otherwise) {
  return static_cast<std::int64_t>(quantity(key, core::Unit::bytes, least, 1e18, otherwise));
}

double Section::number(const std::string& key, double least, double most, std::optional<double> otherwise) {
  if (otherwise && !has(key)) return *otherwise;
  const auto found_value = value(key);
  auto found = found_value.value<double>();
  if (const auto text = found_value.value<std::string>(); text && text->find(spread_sign) != std::string::npos)
    found = core::number_of<double>(without_spread(key, *text));
  if (!found || !(*found >= least) || *found > most) fail(key, core::format("must be a number from {} to {}", least, most));
  return *found;
}

double Section::fraction(const std::string& key) {
  const auto found = value(key).value<double>();
  if (!found || !(*found > 0) || *found > 1) fail(key, "must be a number above 0 and at most 1");
  return *found;
}

std::int64_t Section::whole(const std::string& key, std::int64_t least, std::int64_t most,
                            std::optional<std::int64_t> otherwise) {
  if (otherwise && !has(key)) return *otherwise;
  const auto found = value(key);
  const auto number = found.is_integer() ? found.value<std::int64_t>() : std::nullopt;
  if (!number || *number < least || *number > most)
    fail(key, core::format("must be a whole number from {} to {}", least, most));
  return *number;
}

bool Section::flag(const std::string& key, bool otherwise) {
  if (!has(key)) return otherwise;
  const auto found = value(key);
  if (!found.is_boolean()) fail(key, "must be true or false");
  return *found.value<bool>();
}

std::string Section::word(const std::string& key) {
  const auto found = value(key).value<std::string>();
  if (!found) fail(key, "must be a word in quotes");
  return *found;
}

const toml::array& Section::list(const std::string& key, std::size_t least) {
  const toml::array* array = value(key).as_array();
  if (array == nullptr || array->size() < least) fail(key, "must be a list in square brackets, with at least one entry");
  return *array;
}

std::vector<double> Section::quantities(const std::string& key, core::Unit unit, double least, double most) {
  std::vector<double> all;
  for (const toml::node& node : list(key)) all.push_back(parse_quantity(key, &node, unit, least, most));
  return all;
}

std::vector<double> Section::wholes(const std::string& key, std::int64_t least, std::int64_t most) {
  std::vector<double> all;
  for (const toml::node& node : list(key)) {
    const auto number = node.is_integer() ? node.value<std::int64_t>() : std::nullopt;
    if (!number || *number < least || *number > most)
      fail(key, core::format("must hold whole numbers from {} to {}", least, most));
    all.push_back(static_cast<double>(*number));
  }
  return all;
}

std::vector<std::string> Section::words(const std::string& key, std::size_t least) {
  std::vector<std::string> all;
  for (const toml::node& node : list(key, least)) {
    const auto word = node.value<std::string>();
    if (!word) fail(key, "must hold words in quotes");
    all.push_back(*word);
  }
  return all;
}

std::vector<std::vector<double>> Section::square(const std::string& key, std::size_t size) {
  const auto refuse = [&] { fail(key, core::format("must hold {} lists of {} numbers each", size, size)); };
  std::vector<std::vector<double>> rows;
  for (const toml::node& node : list(key)) {
    rows.emplace_back();
    if (const toml::array* row = node.as_array())
      for (const toml::node& entry : *row) rows.back().push_back(entry.value<double>().value_or(std::nan("")));
    if (rows.back().size() != size || !std::ranges::all_of(rows.back(), [](double x) { return std::isfinite(x); })) refuse();
  }
  if (rows.size() != size) refuse();
  return rows;
}

void Section::fail(const std::string& key, const std::string& problem) const {
  throw core::ConfigError(core::format("platform file '{}', key {}.{}: {}", file_, name_, key, problem));
}

void Section::done() const {
  for (const auto& [key, node] : *table_)
    if (!asked_.contains(std::string(key.str())))
      fail(std::string(key.str()), "is not a known key; " + core::suggestion(key.str(), {known_.begin(), known_.end()}));
}

std::string Section::misspelt(const std::string& key) const {
  std::vector<std::string> unread;
  for (const auto& [other, node] : *table_)
    if (!asked_.contains(std::string(other.str()))) unread.emplace_back(other.str());
  return core::nearest_name(key, unread);
}

toml::node_view<const toml::node> Section::value(const std::string& key) {
  asked_.insert(key);
  known_.insert(key);
  const auto found = (*table_)[key];
  if (!found) {
    const std::string meant = misspelt(key);
    fail(key, meant.empty() ? "is missing" : core::format("is missing; is '{}' in this table meant to be it?", meant));
  }
  return found;
}

void apply(const PlatformChanges& changes, toml::table& content, const std::string& path) {
  for (const PlatformChange& change : changes) {
    if (!content.contains(change.section)) content.insert(change.section, toml::table{});
    toml::table* const section = content[change.section].as_table();
    if (section == nullptr)
      throw core::ConfigError(
          core::format("platform file '{}': [{}] may be repeated, so that its keys cannot be varied", path, change.section));
    parsed(change.value).get("value")->visit([&](const auto& value) { section->insert_or_assign(change.key, value); });
  }
}

}  // namespace paragrad::sim
