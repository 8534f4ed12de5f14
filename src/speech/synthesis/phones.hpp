#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paragrad::speech {

/// The phones of flite's English voices (the CMU set); `pau` is silence. Each has three consecutive states.
inline constexpr std::array<std::string_view, 41> phone_names{
    "aa", "ae", "ah", "ao", "aw", "ax", "ay", "b", "ch", "d",  "dh", "eh", "er", "ey", "f", "g", "hh", "ih", "iy", "jh", "k",
    "l",  "m",  "n",  "ng", "ow", "oy", "p",  "r", "s",  "sh", "t",  "th", "uh", "uw", "v", "w", "y",  "z",  "zh", "pau"};
inline constexpr std::size_t states_per_phone = 3;
inline constexpr std::size_t phone_states = phone_names.size() * states_per_phone;  ///< state s of phone p is 3 p + s

/// Broad classes of phones as context: vowels by tongue position, consonants by place of articulation.
inline constexpr std::array<std::string_view, 10> broad_names{"sil",      "front",    "central", "back",   "labial",
                                                              "alveolar", "sibilant", "velar",   "liquid", "glide"};

/// Index into broad_names.
std::uint8_t broad_class(std::size_t phone);

}  // namespace paragrad::speech
