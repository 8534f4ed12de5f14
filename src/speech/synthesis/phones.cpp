#include "speech/synthesis/phones.hpp"

#include <algorithm>
#include <initializer_list>

namespace paragrad::speech {
namespace {

std::uint8_t broad_class_of(std::string_view phone) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> phones) {
    return std::ranges::find(phones, phone) != phones.end();
  };
  if (phone == "pau") return 0;
  if (is_one_of({"iy", "ih", "ey", "eh", "ae"})) return 1;
  if (is_one_of({"aa", "ah", "ax", "aw", "ay", "er"})) return 2;
  if (is_one_of({"ao", "ow", "oy", "uh", "uw"})) return 3;
  if (is_one_of({"p", "b", "m", "f", "v"})) return 4;
  if (is_one_of({"t", "d", "n", "th", "dh"})) return 5;
  if (is_one_of({"s", "z", "sh", "zh", "ch", "jh"})) return 6;
  if (is_one_of({"k", "g", "ng"})) return 7;
  return is_one_of({"l", "r"}) ? 8 : 9;
}

}  // namespace

std::uint8_t broad_class(std::size_t phone) { return broad_class_of(phone_names[phone]); }

}  // namespace paragrad::speech
