#include "train/memory_need.hpp"

#include <vector>

#include "core/format.hpp"
#include "core/memory.hpp"
#include "nn/node_text.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {
namespace {

/// In floating point: a model may have more parameters than an integer holds.
double parameters_of(const nn::Graph& network) {
  double count = 0;
  for (const core::Matrix& matrix : network.layout())
    count += static_cast<double>(matrix.shape.rows) * static_cast<double>(matrix.shape.columns);
  return count;
}

/// Size of gradient and optimiser state as a multiple of the model's: measured with a small one, as some optimisers keep
/// both in one array.
double copies_of_optimiser(const TrainingOptions& options) {
  const std::vector<core::Matrix> small{{0, {8, 8}}};
  const std::size_t size = small[0].shape.size();
  const auto device = backend::make_device("reference");
  const auto optimiser = optim::make_optimiser(update_rule(options), *device, small, false);
  const auto gradients = optimiser->gradients();
  core::StateView state;
  optimiser->describe_state(state);
  std::size_t elements = gradients.size();
  for (const auto& array : state.arrays)
    if (array.values.data() != gradients.data()) elements += array.values.size();
  return static_cast<double>(elements / size);
}

}  // namespace

double least_memory_bytes(const TrainingOptions& options, const nn::Graph& network, int workers) {
  const double copies = 1 + copies_of_optimiser(options);
  return parameters_of(network) * sizeof(float) * copies * workers / options.tensor_parallel;
}

void require_memory(const backend::Device& device, const TrainingOptions& options, const TrainingData& source, int workers) {
  if (!device.computes() || !device.is_host()) return;
  core::require_memory(least_memory_bytes(options, *source.network, workers),
                       core::format("the model '{}', with gradient and optimiser, of {} worker{}",
                                    nn::short_name(options.model), workers, workers == 1 ? "" : "s"));
}

}  // namespace paragrad::train
