#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/numbers.hpp"

namespace paragrad::core {

/// The range of an option's number: from `least` to `most`, each of which may be excluded. NaN and infinity are never
/// allowed.
template <class T>
struct Limits {
  T least = std::numeric_limits<T>::lowest();
  T most = std::numeric_limits<T>::max();
  bool without_least = false;
  bool without_most = false;

  bool hold(T value) const {
    return (without_least ? value > least : value >= least) && (without_most ? value < most : value <= most);
  }
};

inline constexpr std::size_t most_things = 1'000'000'000'000'000;  ///< largest count of anything

inline constexpr Limits<std::size_t> any_count{.most = most_things};
inline constexpr Limits<std::size_t> one_or_more{.least = 1, .most = most_things};
inline constexpr Limits<std::size_t> a_minibatch{.least = 1, .most = std::size_t{1} << 30};
inline constexpr Limits<std::uint64_t> any_seed{};
inline constexpr Limits<double> any_number{};
inline constexpr Limits<double> zero_or_more{.least = 0};
inline constexpr Limits<double> above_zero{.least = 0, .without_least = true};
inline constexpr Limits<double> a_share{.least = 0, .most = 1};
inline constexpr Limits<double> below_one{.least = 0, .most = 1, .without_most = true};  ///< a momentum, for example

/// A value that an option does not take: "`balance`: '2' is not a number from 0 to 1", of which the reason is the part after
/// the colon.
class OptionError : public ConfigError {
 public:
  OptionError(const std::string& name, const std::string& why)
      : ConfigError(format("`{}`: {}", name, why)), option(name), reason(why) {}

  std::string option, reason;
};

/// Limits as shown to users: "1 to 1000000", "above 0", "0 to below 1".
template <class T>
std::string describe(const Limits<T>& limits) {
  const bool bounded_below = limits.least != std::numeric_limits<T>::lowest() || std::is_unsigned_v<T>;
  const bool bounded_above = limits.most != std::numeric_limits<T>::max() || std::is_unsigned_v<T>;
  const std::string least = format("{}{}", limits.without_least ? "above " : "", limits.least);
  if (!bounded_below && !bounded_above) return "any number";
  if (!bounded_above) return limits.without_least ? least : least + " or more";
  return format("{} to {}{}", least, limits.without_most ? "below " : "", limits.most);
}

/// The kind of number in help texts.
template <class T>
const char* kind_of() {
  return !std::is_integral_v<T> ? "FLOAT" : std::is_unsigned_v<T> ? "UINT" : "INT";
}

/// The reason why `text` is refused: "'-1' is not a whole number from 0 to 1000". limits: their description.
std::string not_a_number(const std::string& text, bool whole, const std::string& limits);

/// The whole text as a number within the limits. Throws OptionError.
template <class T>
T parse_number(const std::string& option, const std::string& text, const Limits<T>& limits) {
  const auto value = number_of<T>(text);
  if (!value || !std::isfinite(static_cast<double>(*value)) || !limits.hold(*value))
    throw OptionError(option, not_a_number(text, std::is_integral_v<T>, describe(limits)));
  return *value;
}

}  // namespace paragrad::core
