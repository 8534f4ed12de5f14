#include "core/numbers.hpp"

#include <algorithm>
#include <cstdint>

namespace paragrad::core {

// By the power of ten of its first digit that is not 0.
bool is_tiny(std::string_view number) {
  const std::string_view digits = number.substr(0, number.find_first_of("eE"));
  const std::size_t first = digits.find_first_of("123456789"), point = std::min(digits.find('.'), digits.size());
  if (first == std::string_view::npos) return true;
  std::int64_t power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (first < point) --power;
  if (digits.size() == number.size()) return power < 0;
  const std::string_view exponent = number.substr(digits.size() + 1);
  const auto shift = number_of<std::int64_t>(exponent);
  return shift ? *shift < -power : exponent.starts_with('-');  // an exponent beyond int64 outweighs all digits
}

}  // namespace paragrad::core
