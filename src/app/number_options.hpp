#pragma once

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "app/command.hpp"
#include "core/format.hpp"

namespace paragrad::app {

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

namespace numbers {

/// Limits as shown in --help: "1 to 1000000", "above 0", "0 to below 1".
template <class T>
std::string describe(const Limits<T>& limits) {
  const bool bounded_below = limits.least != std::numeric_limits<T>::lowest() || std::is_unsigned_v<T>;
  const bool bounded_above = limits.most != std::numeric_limits<T>::max() || std::is_unsigned_v<T>;
  const std::string least = core::format("{}{}", limits.without_least ? "above " : "", limits.least);
  if (!bounded_below && !bounded_above) return "any number";
  if (!bounded_above) return limits.without_least ? least : least + " or more";
  return core::format("{} to {}{}", least, limits.without_most ? "below " : "", limits.most);
}

/// Throws CLI::ValidationError: "--minibatch: '-1' is not a whole number from 0 to 1000".
[[noreturn]] void refuse(const std::string& option, const std::string& text, bool whole, const std::string& limits);

/// The whole text as a number within the limits. Throws CLI::ValidationError.
template <class T>
T parse(const std::string& option, const std::string& text, const Limits<T>& limits) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool is_number = error == std::errc{} && rest == end && std::isfinite(static_cast<double>(value));
  if (!is_number || !limits.hold(value)) refuse(option, text, std::is_integral_v<T>, describe(limits));
  return value;
}

/// The parts between commas; none may be empty. Throws CLI::ValidationError.
std::vector<std::string> pieces(const std::string& option, const std::string& list);

CLI::Option* add(CLI::App& parser, const std::string& name, const std::string& type, const std::string& by_default,
                 const std::function<void(const std::string&)>& take, const std::string& description);

template <class T>
std::string type_of(const Limits<T>& limits, const char* ending = "") {
  const char* const kind = !std::is_integral_v<T> ? "FLOAT" : std::is_unsigned_v<T> ? "UINT" : "INT";
  return core::format("{}{}:{}", kind, ending, describe(limits));
}

}  // namespace numbers

/// Adds an option whose value is one number. Numeric options must be added this way: parse() rejects parsers that have one
/// without limits.
template <class T>
CLI::Option* add_number(CLI::App& parser, const std::string& name, T& value, std::type_identity_t<Limits<T>> limits,
                        const std::string& description) {
  const auto take = [name, &value, limits](const std::string& text) { value = numbers::parse<T>(name, text, limits); };
  return numbers::add(parser, name, numbers::type_of(limits), core::format("{}", value), take, description);
}

/// The same for a number that may be left to the program: "auto".
template <class T>
CLI::Option* add_number(CLI::App& parser, const std::string& name, std::optional<T>& value,
                        std::type_identity_t<Limits<T>> limits, const std::string& description) {
  const auto take = [name, &value, limits](const std::string& text) {
    value = text == "auto" ? std::nullopt : std::optional(numbers::parse<T>(name, text, limits));
  };
  return numbers::add(parser, name, numbers::type_of(limits), value ? core::format("{}", *value) : "auto", take,
                      description);
}

/// Adds an option whose value is a list of numbers, separated by commas.
template <class T>
CLI::Option* add_numbers(CLI::App& parser, const std::string& name, std::vector<T>& values,
                         std::type_identity_t<Limits<T>> limits, const std::string& description) {
  const auto take = [name, &values, limits](const std::string& text) {
    values.clear();
    for (const std::string& piece : numbers::pieces(name, text)) values.push_back(numbers::parse<T>(name, piece, limits));
  };
  return numbers::add(parser, name, numbers::type_of(limits, ",..."), core::format("{}", fmt::join(values, ",")), take,
                      description);
}

/// Adds an option whose value is a list of words, separated by commas.
CLI::Option* add_words(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                       const std::string& description);

/// Throws std::logic_error for a numeric option that was added in another way.
void check_that_numbers_have_limits(const CLI::App& parser);

}  // namespace paragrad::app
