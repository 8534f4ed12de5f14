#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "app/command.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/options.hpp"

namespace paragrad::app {

using core::Limits;

namespace numbers {

/// take: may throw core::OptionError.
CLI::Option* add(CLI::App& parser, const std::string& name, const std::string& type, const std::string& by_default,
                 const std::function<void(const std::string&)>& take, const std::string& description);

template <class T>
std::string type_of(const Limits<T>& limits, const char* ending = "") {
  return core::format("{}{}:{}", core::kind_of<T>(), ending, core::describe(limits));
}

}  // namespace numbers

/// Adds an option whose value is one number. Numeric options must be added this way: parse() rejects parsers that have one
/// without limits.
template <class T>
CLI::Option* add_number(CLI::App& parser, const std::string& name, T& value, std::type_identity_t<Limits<T>> limits,
                        const std::string& description) {
  const auto take = [name, &value, limits](const std::string& text) { value = core::parse_number<T>(name, text, limits); };
  return numbers::add(parser, name, numbers::type_of(limits), core::format("{}", value), take, description);
}

/// The same for a number that may be left to the program: "auto".
template <class T>
CLI::Option* add_number(CLI::App& parser, const std::string& name, std::optional<T>& value,
                        std::type_identity_t<Limits<T>> limits, const std::string& description) {
  const auto take = [name, &value, limits](const std::string& text) {
    value = text == "auto" ? std::nullopt : std::optional(core::parse_number<T>(name, text, limits));
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
    for (const std::string& piece : core::list_of(name, text)) values.push_back(core::parse_number<T>(name, piece, limits));
  };
  return numbers::add(parser, name, numbers::type_of(limits, ",..."), core::format("{}", core::join(values, ",")), take,
                      description);
}

/// Adds an option that is on or off: --x, --x true, --x false. Those of type bool must be added this way.
CLI::Option* add_flag(CLI::App& parser, const std::string& name, bool& value, const std::string& description);

/// Adds an option whose value is a list of words, separated by commas.
CLI::Option* add_words(CLI::App& parser, const std::string& name, std::vector<std::string>& values,
                       const std::string& description);

/// The bytes in "100kB". Throws ConfigError with the option's name, "--bytes", if it is no size or outside the limits.
double parse_size(const std::string& name, const std::string& text, double least, double most);

/// Throws std::logic_error for a numeric option that was added in another way.
void check_that_numbers_have_limits(const CLI::App& parser);

}  // namespace paragrad::app
