#pragma once

#include <cmath>

#include "backend/gpu_kernels/losses.hpp"
#include "backend/kernels/focal_loss.hpp"

namespace paragrad::backend::gpu_kernels {

/// Replaces logits[batch][classes] with their gradient, and fills rows[batch].
struct FocalRows {
  static constexpr const char* name = "focal_loss";
  static constexpr std::uint32_t threads = 512;
  union Shared {  // one after the other
    Output outputs[threads];
    float sums[threads];
  };

  std::size_t batch, classes;
  Labels labels;
  float* logits;
  RowLoss* rows;
  float gamma;

  std::size_t blocks() const { return batch; }
  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    float* const row = logits + block.index * classes;
    const Target target = Target::of(labels, block.index, classes);
    const Output largest = largest_of(block, classes, row, shared.outputs);
    const float of_label = row[target.label] - largest.value;
    const auto power = [&](std::size_t j) { return std::exp(row[j] - largest.value); };
    const auto other = [&](std::size_t j) { return j == target.label ? 0.f : power(j); };
    const float others = reduce(block, classes, 0.f, shared.sums, other, Sum{});
    const float sum = others + std::exp(of_label), q = others / sum, slope = focal_slope(gamma, q);
    block.each([&](std::uint32_t thread) {
      write_in_fours(
          thread, classes, threads,
          [&](std::size_t j) {
            if (!target.scored) return 0.f;
            return target.weight * (j == target.label ? slope * q : -slope * (power(j) / sum));
          },
          [&](std::size_t j, float gradient) { row[j] = gradient; });
    });
    block.each([&](std::uint32_t thread) {
      if (thread != 0) return;
      const double of_row = std::log(static_cast<double>(sum)) - static_cast<double>(of_label);
      rows[block.index] =
          target.loss(static_cast<double>(std::pow(q, gamma)) * of_row, largest.place != target.label || std::isnan(sum));
    });
  }
};

// ---- bodies ----

void run(auto& gpu, const FocalLoss& kernel) {
  add_losses<FocalRows>(gpu, kernel, kernel.classes, kernel.logits.data(), kernel.gamma);
}

}  // namespace paragrad::backend::gpu_kernels
