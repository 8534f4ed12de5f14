#pragma once

#include <span>
#include <string_view>

#include "backend/kernel_queue.hpp"
#include "backend/loss_sum.hpp"
#include "core/option_info.hpp"
#include "data/batch.hpp"

namespace paragrad::nn {

enum class Loss { cross_entropy, squared_error, ctc };

/// "cross_entropy", "squared_error" or "ctc". Throws ConfigError.
Loss parse_loss(std::string_view name);

core::CatalogueInfo loss_catalogue();

/// What is minimised: a loss, for cross_entropy with label smoothing in [0, 1).
struct Criterion {
  Loss loss;
  float smoothing = 0;

  Criterion(Loss of, float smoothed = 0) : loss(of), smoothing(smoothed) {}  // a loss is a criterion without smoothing
};

/// Adds the loss of outputs[rows][width] to *into and replaces the outputs by its gradient. All device memory.
void run_loss(backend::KernelQueue& queue, const Criterion& criterion, const data::Batch& batch, std::size_t width,
              std::span<float> outputs, backend::LossSum* into);

}  // namespace paragrad::nn
