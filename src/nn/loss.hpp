#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/kernel_queue.hpp"
#include "backend/loss_sum.hpp"
#include "core/option_info.hpp"
#include "data/batch.hpp"

namespace paragrad::nn {

/// What a training minimises: a function of a network's outputs and of what the data say about them.
class Loss {
 public:
  virtual ~Loss() = default;

  /// Adds the sum over the rows of outputs[rows][width] to *into and replaces the outputs with its gradient. All device
  /// memory.
  virtual void run(backend::KernelQueue& queue, const data::Batch& batch, std::size_t width, std::span<float> outputs,
                   backend::LossSum* into) const = 0;

  /// The loss per row of a model whose outputs are the same for all samples: equal ones for all classes or, if
  /// target_variance, the sum over the targets, is positive, the targets' means. NaN: not known.
  virtual double without_learning([[maybe_unused]] std::size_t classes, [[maybe_unused]] double target_variance) const {
    return NAN;
  }
};

/// A loss of losses/catalogue.def.
struct LossEntry {
  core::EntryInfo info;
  std::function<std::unique_ptr<const Loss>(const core::Settings&)> make;

  bool takes_weights = true;         ///< of samples, by which it multiplies what each adds to the loss
  bool takes_targets = false;        ///< real-valued ones; every loss takes labels of classes
  bool of_log_probabilities = true;  ///< outputs are these but for a constant per row: their softmax gives posteriors

  /// Each row has its label, and is scored. Otherwise a sequence's labels are tokens without their places in it, the last
  /// output is the blank, and tokens are scored: loss and error rate are per token.
  bool is_aligned = true;

  /// The loss of scores, for one that only shapes the training; "" for itself. Options have their defaults in scores.
  std::string scored_by{};
};

/// Throws ConfigError for an unknown name.
const LossEntry& loss_entry(std::string_view name);

/// Throws ConfigError for an unknown name or a setting that the loss does not have.
std::unique_ptr<const Loss> make_loss(std::string_view name, const core::Settings& settings = {});

/// The loss of the scores of trainings with that loss.
std::string loss_of_scores(std::string_view name);

core::CatalogueInfo loss_catalogue();

}  // namespace paragrad::nn
