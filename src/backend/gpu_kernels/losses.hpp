#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/gpu_kernels/gpu_context.hpp"
#include "backend/gpu_kernels/grid.hpp"
#include "backend/gpu_kernels/reductions.hpp"
#include "backend/kernels/losses.hpp"

/// Losses of a minibatch, one block per row, and their sum. A label outside the classes, elsewhere a contract violation,
/// makes the loss NaN, as a GPU cannot throw.
namespace paragrad::backend::gpu_kernels {

/// The loss of one row, before summation.
struct RowLoss {
  double loss;
  std::int64_t errors;

  PARAGRAD_HOST_DEVICE RowLoss operator+(const RowLoss& other) const { return {loss + other.loss, errors + other.errors}; }
};

/// An output and its index.
struct Output {
  float value;
  std::uint32_t place;
};

/// The larger of two outputs, the first of equal ones; NaN is larger than anything.
struct FirstLargest {
  PARAGRAD_HOST_DEVICE Output operator()(const Output& a, const Output& b) const {
    const bool broken_a = std::isnan(a.value), broken_b = std::isnan(b.value);
    if (broken_a != broken_b) return broken_a ? a : b;
    if (broken_a || a.value == b.value) return a.place < b.place ? a : b;
    return a.value > b.value ? a : b;
  }
};

/// The first largest of row[0 … count), for all threads.
PARAGRAD_HOST_DEVICE inline Output largest_of(const Block& block, std::size_t count, const float* row, Output* values) {
  const Output none{-std::numeric_limits<float>::infinity(), 0xFFFFFFFF};
  const auto output = [&](std::size_t j) { return Output{row[j], static_cast<std::uint32_t>(j)}; };
  return reduce(block, count, none, values, output, FirstLargest{});
}

/// Labels of rows, and their weights; null: all are 1.
struct Labels {
  const std::int32_t* labels;
  const float* weights;
};

/// The state of a row's label.
struct Target {
  bool scored;  ///< the row has a label
  bool named;   ///< and the label is a valid class
  std::size_t label;
  float weight;  ///< of loss and gradient

  PARAGRAD_HOST_DEVICE static Target of(const Labels& labels, std::size_t row, std::size_t classes) {
    const std::int32_t said = labels.labels[row];
    const bool named = said >= 0 && static_cast<std::size_t>(said) < classes;
    return {said != no_label, named, named ? static_cast<std::size_t>(said) : 0,
            labels.weights == nullptr ? 1.f : labels.weights[row]};
  }
  PARAGRAD_HOST_DEVICE float wanted(std::size_t output) const { return output == label ? 1.f : 0.f; }
  PARAGRAD_HOST_DEVICE float wanted(std::size_t output, std::size_t classes, float smoothing) const {
    return (1 - smoothing) * wanted(output) + smoothing / static_cast<float>(classes);
  }

  PARAGRAD_HOST_DEVICE RowLoss loss(double found, bool wrong) const {
    if (!scored) return {};
    return {named ? static_cast<double>(weight) * found : std::numeric_limits<double>::quiet_NaN(), wrong ? 1 : 0};
  }
};

/// Arguments of what replaces outputs[batch][width] with their gradient and fills rows[batch].
struct LossRows {
  std::size_t batch, width;
  Labels labels;
  float* outputs;
  RowLoss* rows;

  std::size_t blocks() const { return batch; }
  PARAGRAD_HOST_DEVICE float* row(const Block& block) const { return outputs + block.index * width; }
  PARAGRAD_HOST_DEVICE Target target(const Block& block) const { return Target::of(labels, block.index, width); }
  template <class Loss>
  PARAGRAD_HOST_DEVICE void store(const Block& block, const Loss& loss) const {  // one thread computes it
    block.each([&](std::uint32_t thread) {
      if (thread == 0) rows[block.index] = loss();
    });
  }
};

struct SoftmaxRows : LossRows {
  static constexpr const char* name = "softmax_cross_entropy";
  static constexpr std::uint32_t threads = 512;
  union Shared {  // one after the other
    Output outputs[threads];
    float sums[threads];
  };

  float smoothing;

  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    float* const row = this->row(block);
    const std::size_t classes = width;
    const Target target = this->target(block);
    const Output largest = largest_of(block, classes, row, shared.outputs);
    float of_target = row[target.label] - largest.value;
    if (smoothing > 0) {
      const auto share = [&](std::size_t j) { return target.wanted(j, classes, smoothing) * (row[j] - largest.value); };
      of_target = reduce(block, classes, 0.f, shared.sums, share, Sum{});
    }
    const auto power = [&](std::size_t j) { return std::exp(row[j] - largest.value); };
    // reduce() synchronises: every thread has read the label's output before it is overwritten.
    const float sum = reduce(block, classes, 0.f, shared.sums, power, Sum{});
    block.each([&](std::uint32_t thread) {
      write_in_fours(
          thread, classes, threads,
          [&](std::size_t j) {
            return target.scored ? target.weight * (power(j) / sum - target.wanted(j, classes, smoothing)) : 0.f;
          },
          [&](std::size_t j, float gradient) { row[j] = gradient; });
    });
    store(block, [&] {
      const double loss = std::log(static_cast<double>(sum)) - static_cast<double>(of_target);
      return target.loss(loss, largest.place != target.label || std::isnan(sum));
    });
  }
};

/// Of ½ Σ (y - target)². targets: null if one-hot.
struct SquaredErrorRows : LossRows {
  static constexpr const char* name = "squared_error";
  static constexpr std::uint32_t threads = 256;
  union Shared {
    Output outputs[threads];
    double sums[threads];
  };

  const float* targets;

  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    float* const row = this->row(block);
    const float* const real = targets == nullptr ? nullptr : targets + block.index * width;
    const Target target = this->target(block);
    const Output largest = largest_of(block, width, row, shared.outputs);
    const auto half_square = [&](std::size_t j) {
      const float distance = target.scored ? row[j] - (real == nullptr ? target.wanted(j) : real[j]) : 0.f;
      row[j] = target.weight * distance;
      return 0.5 * static_cast<double>(distance) * static_cast<double>(distance);
    };
    const double sum = reduce(block, width, 0.0, shared.sums, half_square, Sum{});
    const bool wrong = largest.place != target.label || std::isnan(largest.value);
    store(block, [&] { return target.loss(sum, real == nullptr && wrong); });
  }
};

/// *into += Σ rows[0 … count), in an order that depends on count alone.
struct AddRowLosses {
  static constexpr const char* name = "sum of losses";
  static constexpr std::uint32_t threads = 256;
  struct Shared {
    RowLoss sums[threads];
  };

  std::size_t count;
  const RowLoss* rows;
  LossSum* into;

  std::size_t blocks() const { return 1; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    const RowLoss sum = reduce(
        block, count, RowLoss{}, shared.sums, [&](std::size_t i) { return rows[i]; }, Sum{});
    block.each([&](std::uint32_t thread) {
      if (thread != 0) return;
      into->loss += sum.loss;
      into->errors += sum.errors;
    });
  }
};

// ---- bodies ----

template <class Rows, class Kernel, class... More>
void add_losses(auto& gpu, const Kernel& kernel, std::size_t width, float* outputs, More... more) {
  if (kernel.batch == 0) return;
  RowLoss* const rows = gpu.template scratch<RowLoss>("losses", kernel.batch);
  gpu(Rows{{kernel.batch, width, {kernel.labels.data(), data_of(kernel.weights)}, outputs, rows}, more...});
  gpu(AddRowLosses{kernel.batch, rows, kernel.into});
}

void run(auto& gpu, const SoftmaxCrossEntropy& kernel) {
  add_losses<SoftmaxRows>(gpu, kernel, kernel.classes, kernel.logits.data(), kernel.smoothing);
}

void run(auto& gpu, const SquaredError& kernel) {
  add_losses<SquaredErrorRows>(gpu, kernel, kernel.outputs, kernel.y.data(), data_of(kernel.targets));
}

}  // namespace paragrad::backend::gpu_kernels
