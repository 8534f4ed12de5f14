#include "speech/synthesis/tied_states.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {
namespace {

constexpr std::size_t broad = broad_names.size();
constexpr std::size_t pairs = broad * broad;

/// Index of the neighbour that is kept when contexts of a state are merged.
std::size_t kept_neighbour(std::size_t state, std::size_t pair) {
  return state % states_per_phone + 1 == states_per_phone ? pair % broad : pair / broad;
}

std::string side_name(std::size_t state, std::size_t neighbour) {
  const bool right = state % states_per_phone + 1 == states_per_phone;
  return right ? core::format(" _{}", broad_names[neighbour]) : core::format(" {}_", broad_names[neighbour]);
}

/// Ties the contexts of one state with N = `least`.
struct Tie {
  Tie(std::span<const std::uint64_t> frames, std::size_t state, std::uint64_t least) : sides(broad, 0) {
    const auto own = frames.subspan(state * pairs, pairs);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      whole.push_back(own[pair] >= least && own[pair] > 0);
      classes += whole[pair];
      if (!whole[pair]) sides[kept_neighbour(state, pair)] += own[pair];
    }
    for (auto& side : sides) classes += side = side >= least && side > 0;
  }

  std::vector<bool> whole;           // [pairs] a class of its own?
  std::vector<std::uint64_t> sides;  // [broad] 1: the remaining contexts form one class
  std::size_t classes = 1;
};

std::size_t classes_of(std::span<const std::uint64_t> frames, std::uint64_t least) {
  std::size_t classes = 0;
  for (std::size_t state = 0; state < phone_states; ++state) classes += Tie(frames, state, least).classes;
  return classes;
}

}  // namespace

std::vector<ContextState> in_context(std::span<const std::uint8_t> states) {
  const auto phone = [&](std::size_t i) { return states[i] / states_per_phone; };
  std::vector<ContextState> result(states.size());
  std::uint8_t left = 0;
  for (std::size_t begin = 0, end = 0; begin < states.size(); begin = end) {
    for (end = begin + 1; end < states.size() && phone(end) == phone(begin) && states[end] >= states[end - 1];) ++end;
    const std::uint8_t right = end < states.size() ? broad_class(phone(end)) : std::uint8_t{0};
    for (std::size_t i = begin; i < end; ++i) result[i] = {left, states[i], right};
    left = broad_class(phone(begin));
  }
  return result;
}

TiedStates::TiedStates(std::span<const std::uint64_t> frames, std::size_t most_classes)
    : least_frames_(1), classes_(context_states) {
  if (most_classes < phone_states)
    throw core::ConfigError(
        core::format("{} classes are fewer than the {} phone states; allow more", most_classes, phone_states));
  while (classes_of(frames, least_frames_) > most_classes) ++least_frames_;
  for (std::size_t state = 0; state < phone_states; ++state) {
    const Tie tie(frames, state, least_frames_);
    const auto add = [&](const std::string& context) {
      names_.push_back(core::format("{}/{}{}", phone_names[state / states_per_phone], state % states_per_phone, context));
      return static_cast<std::int32_t>(names_.size()) - 1;
    };
    const std::int32_t rest = add("");
    std::vector<std::int32_t> side(broad, rest);
    for (std::size_t b = 0; b < broad; ++b)
      if (tie.sides[b] > 0) side[b] = add(side_name(state, b));
    for (std::size_t pair = 0; pair < pairs; ++pair)
      classes_[state * pairs + pair] =
          tie.whole[pair] ? add(core::format(" {}_{}", broad_names[pair / broad], broad_names[pair % broad]))
                          : side[kept_neighbour(state, pair)];
  }
}

}  // namespace paragrad::speech
