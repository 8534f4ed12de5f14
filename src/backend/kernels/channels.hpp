#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

#include "core/host_device.hpp"

/// Kernels that treat x[rows][channels] channel by channel, in up to two passes over the rows: the first adds up two
/// sums per channel, the second writes what follows from them. Such a kernel has
///
///   ChannelShape extent() const
///   bool sums() const                        whether there is a first pass
///   void with_terms(c, loop) const           if there is one, calls loop(load, term) once: term(load(row)) is what a row
///   adds
///                                            to the sums of channel c, and load() writes nothing
///   ChannelPair<Real> take(c, sums) const    once per channel, between the passes; may also store results
///
/// and, if it has a second pass,
///
///   std::span<Real> written() const          what that writes, [rows][channels]; may be empty
///   void with_values(c, pair, loop) const    calls loop(value) once, where value(row) is an element of channel c, which
///                                            may depend on the pair that take() returned
///
/// What is the same for all rows belongs before the call of loop().
namespace paragrad::backend {

/// Sizes of x[rows][channels]; of images every position is a row.
struct ChannelShape {
  std::size_t rows, channels;

  PARAGRAD_HOST_DEVICE std::size_t size() const { return rows * channels; }

  /// For calibration: about `count` values in at most 64 channels.
  static ChannelShape example(std::size_t count) {
    const std::size_t channels = std::min<std::size_t>(count, 64);
    return {count / channels, channels};
  }
};

struct ChannelSums {
  double first = 0, second = 0;

  PARAGRAD_HOST_DEVICE ChannelSums& operator+=(const ChannelSums& more) {
    first += more.first;
    second += more.second;
    return *this;
  }
};

/// What a value adds to the sums from which moments follow: its distance to the channel's first value, and its square.
template <class Real>
PARAGRAD_HOST_DEVICE ChannelSums distance_sums(Real x, Real first) {
  const double distance = static_cast<double>(x) - static_cast<double>(first);
  return {distance, distance * distance};
}

/// What a value adds to the sums of the gradient: along the normalised value, and alone.
template <class Real>
PARAGRAD_HOST_DEVICE ChannelSums gradient_sums(Real dy, Real normal) {
  const double gradient = static_cast<double>(dy);
  return {gradient * static_cast<double>(normal), gradient};
}

template <class Real>
struct ChannelPair {
  Real first, second;
};

/// For concepts: what with_terms() and with_values() are called with.
struct AnyLoop {
  template <class... Formulas>
  PARAGRAD_HOST_DEVICE void operator()(const Formulas&...) const {}
};

template <class Kernel>
concept ChannelKernel = requires(const Kernel& kernel, std::size_t c) {
  { kernel.extent() } -> std::same_as<ChannelShape>;
  { kernel.sums() } -> std::same_as<bool>;
  kernel.take(c, ChannelSums{});
  kernel.with_terms(c, AnyLoop{});
};
/// With a second pass.
template <class Kernel>
concept WritingChannelKernel = ChannelKernel<Kernel> && requires(const Kernel& kernel, std::size_t c) {
  kernel.written();
  kernel.with_values(c, kernel.take(c, ChannelSums{}), AnyLoop{});
};

/// All passes for channel c.
template <ChannelKernel Kernel>
PARAGRAD_HOST_DEVICE void run_channel(const Kernel& kernel, std::size_t c) {
  const auto [rows, channels] = kernel.extent();
  ChannelSums sums;
  if (kernel.sums())
    kernel.with_terms(c, [&, rows = rows](const auto& load, const auto& term) {
      for (std::size_t row = 0; row < rows; ++row) sums += term(load(row));
    });
  const auto pair = kernel.take(c, sums);
  if constexpr (WritingChannelKernel<Kernel>)
    if (!kernel.written().empty())
      kernel.with_values(c, pair, [&, rows = rows, channels = channels](const auto& value) {
        for (std::size_t row = 0; row < rows; ++row) kernel.written()[row * channels + c] = value(row);
      });
}

}  // namespace paragrad::backend
