#pragma once

#include <span>
#include <string_view>

#include "backend/kernel_queue.hpp"
#include "backend/loss_sum.hpp"
#include "data/batch.hpp"

namespace paragrad::nn {

enum class Loss { cross_entropy, squared_error, ctc };

/// "cross_entropy", "squared_error" or "ctc". Throws ConfigError.
Loss parse_loss(std::string_view name);

/// Adds the loss of outputs[rows][classes] to *into and replaces the outputs by its gradient. All device memory.
void run_loss(backend::KernelQueue& queue, Loss kind, const data::Batch& batch, std::size_t classes,
              std::span<float> outputs, backend::LossSum* into);

}  // namespace paragrad::nn
