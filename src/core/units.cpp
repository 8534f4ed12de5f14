#include "core/units.hpp"

#include <cmath>
#include <span>
#include <vector>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/numbers.hpp"

namespace paragrad::core {
namespace {

struct Name {
  std::string_view text;
  double factor;
};

// Factors increase; format_quantity uses the first `formatted` of them.
struct Table {
  std::string_view what;
  std::vector<Name> names;
  std::size_t formatted;
};

const Table& table(Unit unit) {
  static const Table time{
      "time",
      {{"ps", 1e-12}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}},
      8};
  static const Table bytes{"size", {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}, 5};
  static const Table bandwidth{"bandwidth",
                               {{"Bps", 1},
                                {"kBps", 1e3},
                                {"MBps", 1e6},
                                {"GBps", 1e9},
                                {"bps", 0.125},
                                {"kbps", 125},
                                {"Mbps", 125e3},
                                {"Gbps", 125e6}},
                               4};
  static const Table rate{
      "rate", {{"FLOPs", 1}, {"kFLOPs", 1e3}, {"MFLOPs", 1e6}, {"GFLOPs", 1e9}, {"TFLOPs", 1e12}, {"PFLOPs", 1e15}}, 6};
  switch (unit) {
    case Unit::time:
      return time;
    case Unit::bytes:
      return bytes;
    case Unit::bandwidth:
      return bandwidth;
    case Unit::rate:
      return rate;
  }
  throw std::logic_error("unit without a table");
}

}  // namespace

double parse_quantity(std::string_view text, Unit unit) {
  const Table& units = table(unit);
  if (const auto number = leading_number<double>(text))
    for (const Name& name : units.names)
      if (name.text == number->rest && std::isfinite(number->value * name.factor)) return number->value * name.factor;
  std::vector<std::string_view> known;
  for (const Name& name : units.names) known.push_back(name.text);
  throw ConfigError(format("'{}' is not a {}: write a number followed by one of {}", text, units.what, join(known, ", ")));
}

std::string_view base_unit(Unit unit) {
  for (const Name& name : table(unit).names)
    if (name.factor == 1) return name.text;
  throw std::logic_error("unit without a measure");
}

std::string format_quantity(double value, Unit unit) {
  const Table& units = table(unit);
  std::size_t best = 0;
  for (std::size_t i = 1; i < units.formatted; ++i)
    if (std::abs(value) >= units.names[i].factor) best = i;
  if (value == 0) return format("0{}", unit == Unit::time ? "s" : units.names[0].text);
  const double number = value / units.names[best].factor;
  if (std::abs(number) >= 9999.5) return format("{:.0f}{}", number, units.names[best].text);  // beyond the largest unit
  return format("{:.4g}{}", number, units.names[best].text);
}

}  // namespace paragrad::core
