#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace paragrad::data {

/// How a text is cut into windows of `context` tokens, each with the token that follows it as its label.
///
/// In training they lie side by side, from another place on in each epoch, or each begins at a place drawn at random in each
/// epoch. Either is keyed by the window's index, so it depends neither on the workers that share the windows nor on where a
/// training was resumed. Otherwise the windows label each token but the first once: the last one overlaps the one before
/// where they do not fill the text.
class Windows {
 public:
  enum class Order { disjoint, random };

  /// Of a text for training. Throws ConfigError if there is not one window and the token after it. what: "'x.h5' (train)"
  static Windows training(std::size_t tokens, std::size_t context, Order order, std::uint64_t seed, const std::string& what);

  /// For scores.
  static Windows once(std::size_t tokens, std::size_t context);

  std::size_t count() const { return count_; }
  std::size_t length() const { return length_; }  ///< of each; below `context` only if the text is
  Order order() const { return order_; }

  /// The first token of a window. epoch: 0 for scores.
  std::uint32_t begin(std::size_t index, std::uint32_t epoch) const;

  /// The first token of a window, counted in it, whose label is not one of the window before, too.
  std::size_t first_scored(std::size_t index) const;

 private:
  std::size_t tokens_ = 0, length_ = 0, count_ = 0;
  bool in_training_ = false;
  Order order_ = Order::disjoint;
  std::uint64_t seed_ = 0;
};

}  // namespace paragrad::data
