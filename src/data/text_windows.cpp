#include "data/text_windows.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/philox.hpp"

namespace paragrad::data {

Windows Windows::training(std::size_t tokens, std::size_t context, Order order, std::uint64_t seed,
                          const std::string& what) {
  if (tokens < context + 1)
    throw core::ConfigError(
        core::format("{} has {} token{}, fewer than a window of {} and the token after it: give a smaller "
                     "context, or more text",
                     what, tokens, tokens == 1 ? "" : "s", context));
  Windows windows;
  windows.tokens_ = tokens;
  windows.length_ = context;
  // As many as fit wherever the first begins, or one.
  windows.count_ = std::max<std::size_t>(1, (tokens - context) / context);
  windows.in_training_ = true;
  windows.order_ = order;
  windows.seed_ = seed;
  return windows;
}

Windows Windows::once(std::size_t tokens, std::size_t context) {
  Windows windows;
  windows.tokens_ = tokens;
  if (tokens < 2) return windows;
  windows.length_ = std::min(context, tokens - 1);
  windows.count_ = (tokens - 1 + windows.length_ - 1) / windows.length_;
  return windows;
}

std::uint32_t Windows::begin(std::size_t index, std::uint32_t epoch) const {
  if (!in_training_) return static_cast<std::uint32_t>(std::min(index * length_, tokens_ - 1 - length_));
  const core::RandomStream random(seed_, core::Purpose::windows, epoch);
  if (order_ == Order::random) return static_cast<std::uint32_t>(random.below(tokens_ - length_, index));
  const std::size_t places = std::min(length_, tokens_ - count_ * length_);
  return static_cast<std::uint32_t>(random.below(places, 0) + index * length_);
}

std::size_t Windows::first_scored(std::size_t index) const { return in_training_ ? 0 : index * length_ - begin(index, 0); }

}  // namespace paragrad::data
