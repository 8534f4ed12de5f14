#pragma once

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace paragrad::core {

/// Whether a number in decimal notation that a floating-point type cannot hold is too small for it, rather than too large.
bool is_tiny(std::string_view number);

/// A number at the beginning of a text, and what follows it.
template <class T>
struct LeadingNumber {
  T value{};
  std::string_view rest;
};

/// Reads a number in decimal notation, with a point for decimals whatever the locale. Nothing if the text does not begin
/// with one, or with a whole number beyond T. A sign may precede it, also a plus. A floating-point number beyond T is 0 or
/// infinite, with its sign, as std::strtod reads it (std::from_chars refuses all three).
template <class T>
std::optional<LeadingNumber<T>> leading_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  LeadingNumber<T> number;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error == std::errc::invalid_argument) return std::nullopt;
  const auto length = static_cast<std::size_t>(rest - text.data());
  if constexpr (std::is_integral_v<T>) {
    if (error == std::errc::result_out_of_range) return std::nullopt;
  } else if (error == std::errc::result_out_of_range) {
    const T size = is_tiny(text.substr(0, length)) ? T{0} : std::numeric_limits<T>::infinity();
    number.value = text.starts_with('-') ? -size : size;
  }
  number.rest = text.substr(length);
  return number;
}

/// The same for a whole text. A floating-point number may be infinite or NaN.
template <class T>
std::optional<T> number_of(std::string_view text) {
  const auto number = leading_number<T>(text);
  return number && number->rest.empty() ? std::optional(number->value) : std::nullopt;
}

}  // namespace paragrad::core
