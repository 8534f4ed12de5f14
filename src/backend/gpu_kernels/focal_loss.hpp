#pragma once

#include <cmath>

#include "backend/gpu_kernels/losses.hpp"
#include "backend/kernels/focal_loss.hpp"

namespace paragrad::backend::gpu_kernels {

struct FocalRows : LossRows {
  static constexpr const char* name = "focal_loss";
  static constexpr std::uint32_t threads = SoftmaxRows::threads;
  using Shared = SoftmaxRows::Shared;

  float gamma;

  PARAGRAD_HOST_DEVICE void operator()(const Block& block, Shared& shared) const {
    float* const row = this->row(block);
    const std::size_t classes = width;
    const Target target = this->target(block);
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
    store(block, [&] {
      const double loss = std::log(static_cast<double>(sum)) - static_cast<double>(of_label);
      return target.loss(static_cast<double>(std::pow(q, gamma)) * loss, largest.place != target.label || std::isnan(sum));
    });
  }
};

// ---- bodies ----

void run(auto& gpu, const FocalLoss& kernel) {
  add_losses<FocalRows>(gpu, kernel, kernel.classes, kernel.logits.data(), kernel.gamma);
}

}  // namespace paragrad::backend::gpu_kernels
