#pragma once

#include <algorithm>
#include <cmath>

#include "backend/kernels/batch_norm.hpp"

/// Batch normalisation with the mean and variance of several workers' minibatches together. Each worker computes the moments
/// of its own rows; when all have those of all, they combine them, in the order of the workers, and go on as with running
/// statistics. The backward pass exchanges its sums in the same way.
namespace paragrad::backend {

/// Statistics that a worker sends: [2][channels] and, at the end, its number of rows.
constexpr std::size_t statistics_size(std::size_t channels) { return 2 * channels + 1; }

/// own = the means of the channels and the sums of the squared distances to them, over this worker's rows.
template <class Real>
struct BatchMomentsOf {
  static constexpr KernelId id = KernelId::batch_moments;

  ChannelShape shape;
  std::span<const Real> x;
  std::span<Real> own;  ///< [statistics_size]

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "own", own.size(), statistics_size(shape.channels));
  }
  KernelCost cost() const { return streaming_cost(x.size(), 3, 1); }
  std::size_t elements() const { return shape.channels; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return shape; }
  PARAGRAD_HOST_DEVICE bool sums() const { return true; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t c, const Loop& loop) const {
    with_distance_terms(shape, c, x, loop);
  }
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums& of_distances) const {
    finish(c, shape.rows == 0 ? 0 : static_cast<double>(x[c]), of_distances.first, of_distances.second);
    return {};
  }

  PARAGRAD_HOST_DEVICE void finish(std::size_t c, double first, double sum, double squares) const {
    const double count = static_cast<double>(shape.rows), divisor = count == 0 ? 1 : count;
    const double about_mean = squares - sum * sum / divisor;
    own[c] = static_cast<Real>(first + sum / divisor);
    own[shape.channels + c] = static_cast<Real>(about_mean < 0 ? 0 : about_mean);
    if (c == 0) own[2 * shape.channels] = static_cast<Real>(count);
  }
  static Example<BatchMomentsOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = ChannelShape::example(count)] {
      return BatchMomentsOf{shape, memory.activations(0, shape.size()), memory.parameters(statistics_size(shape.channels))};
    };
  }
};
using BatchMoments = BatchMomentsOf<float>;

/// together = mean and variance over all workers' rows (Chan, Golub and LeVeque, COMPSTAT 1982), towards which the running
/// ones move as in BatchNormForward.
template <class Real>
struct CombineMomentsOf {
  static constexpr KernelId id = KernelId::combine_moments;

  std::size_t workers, channels;
  Real momentum;
  std::span<const Real> all;  ///< [workers][statistics_size]
  std::span<Real> running;    ///< mean and variance
  std::span<Real> together;   ///< likewise; [2][channels]

  void check() const {
    expect_size(id, "all", all.size(), workers * statistics_size(channels));
    expect_size(id, "running", running.size(), 2 * channels);
    expect_size(id, "together", together.size(), 2 * channels);
  }
  KernelCost cost() const { return streaming_cost(channels, 6 * workers, 2 * workers + 6); }
  std::size_t elements() const { return channels; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const {
    double count = 0, mean = 0, squares = 0;
    for (std::size_t k = 0; k < workers; ++k) {
      const Real* const own = all.data() + k * statistics_size(channels);
      const double rows = static_cast<double>(own[2 * channels]);
      if (rows == 0) continue;
      const double distance = static_cast<double>(own[c]) - mean;
      squares += static_cast<double>(own[channels + c]) + distance * distance * count * rows / (count + rows);
      mean += distance * rows / (count + rows);
      count += rows;
    }
    if (count == 0) return;
    together[c] = static_cast<Real>(mean);
    together[channels + c] = static_cast<Real>(squares / count);
    running[c] += momentum * (together[c] - running[c]);
    running[channels + c] += momentum * (static_cast<Real>(squares / (count > 1 ? count - 1 : 1)) - running[channels + c]);
  }
  static Example<CombineMomentsOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, channels = std::max<std::size_t>(1, count / 10)] {
      const auto of_channels = [&] { return memory.parameters(2 * channels); };
      return CombineMomentsOf{
          2, channels, Real(0.1), memory.parameters(2 * statistics_size(channels)), of_channels(), of_channels()};
    };
  }
};
using CombineMoments = CombineMomentsOf<float>;

/// The sums over this worker's rows from which the gradients of a training pass follow: of dy·normalised x, and of dy. They
/// are also its addends of the parameters' gradients: dparameters = keep·dparameters + sums.
template <class Real>
struct BatchNormSumsOf {
  static constexpr KernelId id = KernelId::batch_norm_sums;

  ChannelShape shape;
  std::span<const Real> x;
  std::span<const Real> used;  ///< mean and 1/sqrt(variance + epsilon) of the forward pass
  std::span<const Real> dy;
  Real keep;
  std::span<Real> dparameters;
  std::span<Real> own;  ///< [statistics_size]

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "used", used.size(), 2 * shape.channels);
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dparameters", dparameters.size(), 2 * shape.channels);
    expect_size(id, "own", own.size(), statistics_size(shape.channels));
  }
  KernelCost cost() const { return streaming_cost(x.size(), 5, 2); }
  std::size_t elements() const { return shape.channels; }
  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return shape; }
  PARAGRAD_HOST_DEVICE bool sums() const { return true; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t c, const Loop& loop) const {
    with_gradient_terms(shape, c, x, used, dy, loop);
  }
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums& all) const {
    finish(c, all.first, all.second);
    return {};
  }

  PARAGRAD_HOST_DEVICE void finish(std::size_t c, double along, double sum) const {
    const std::size_t channels = shape.channels;
    own[c] = static_cast<Real>(along);
    own[channels + c] = static_cast<Real>(sum);
    if (c == 0) own[2 * channels] = static_cast<Real>(shape.rows);
    dparameters[c] = accumulate(own[c], keep, dparameters[c]);
    dparameters[channels + c] = accumulate(own[channels + c], keep, dparameters[channels + c]);
  }
  static Example<BatchNormSumsOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = ChannelShape::example(count)] {
      const auto of_channels = [&] { return memory.parameters(2 * shape.channels); };
      return BatchNormSumsOf{shape,
                             memory.activations(0, shape.size()),
                             of_channels(),
                             memory.activations(1, shape.size()),
                             0,
                             of_channels(),
                             memory.parameters(statistics_size(shape.channels))};
    };
  }
};
using BatchNormSums = BatchNormSumsOf<float>;

/// dx = keep·dx + …, from the sums of all workers.
template <class Real>
struct SyncBatchNormBackwardOf {
  static constexpr KernelId id = KernelId::sync_batch_norm_backward;

  ChannelShape shape;
  std::size_t workers;
  std::span<const Real> x;
  std::span<const Real> parameters;  ///< scale and shift
  std::span<const Real> used;
  std::span<const Real> all;  ///< [workers][statistics_size]
  std::span<const Real> dy;
  Real keep;
  std::span<Real> dx;

  void check() const {
    expect_size(id, "x", x.size(), shape.size());
    expect_size(id, "parameters", parameters.size(), 2 * shape.channels);
    expect_size(id, "used", used.size(), 2 * shape.channels);
    expect_size(id, "all", all.size(), workers * statistics_size(shape.channels));
    expect_size(id, "dy", dy.size(), shape.size());
    expect_size(id, "dx", dx.size(), shape.size());
  }
  KernelCost cost() const { return streaming_cost(x.size(), 6, keep == 0 ? 3 : 4); }
  std::size_t elements() const { return shape.channels; }

  PARAGRAD_HOST_DEVICE void element(std::size_t c) const { run_channel(*this, c); }

  PARAGRAD_HOST_DEVICE ChannelShape extent() const { return shape; }
  PARAGRAD_HOST_DEVICE bool sums() const { return false; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_terms(std::size_t, const Loop&) const {}
  /// The means of dy·normalised x and of dy.
  PARAGRAD_HOST_DEVICE ChannelPair<Real> take(std::size_t c, const ChannelSums&) const {
    double rows = 0, along = 0, sum = 0;
    for (std::size_t k = 0; k < workers; ++k) {
      const Real* const own = all.data() + k * statistics_size(shape.channels);
      along += static_cast<double>(own[c]);
      sum += static_cast<double>(own[shape.channels + c]);
      rows += static_cast<double>(own[2 * shape.channels]);
    }
    return {static_cast<Real>(along / rows), static_cast<Real>(sum / rows)};
  }
  PARAGRAD_HOST_DEVICE std::span<Real> written() const { return dx; }
  template <class Loop>
  PARAGRAD_HOST_DEVICE void with_values(std::size_t c, const ChannelPair<Real>& means, const Loop& loop) const {
    BatchNormGradient<Real>(shape, c, parameters, used, means).with_values(x, dy, keep, dx, loop);
  }
  static Example<SyncBatchNormBackwardOf> example(ExampleMemory& memory, std::size_t count) {
    return [&memory, shape = ChannelShape::example(count)] {
      const auto of_channels = [&] { return memory.parameters(2 * shape.channels); };
      const std::span<float> all = memory.parameters(statistics_size(shape.channels));
      return SyncBatchNormBackwardOf{shape,
                                     1,
                                     memory.activations(0, shape.size()),
                                     of_channels(),
                                     of_channels(),
                                     all,
                                     memory.activations(1, shape.size()),
                                     0,
                                     memory.activations(2, shape.size())};
    };
  }
};
using SyncBatchNormBackward = SyncBatchNormBackwardOf<float>;

}  // namespace paragrad::backend
