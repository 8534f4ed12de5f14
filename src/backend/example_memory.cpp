#include "backend/example_memory.hpp"

#include "backend/kernels/fill.hpp"

namespace paragrad::backend {

ExampleMemory::ExampleMemory(Device& device, std::size_t largest_parameters, std::size_t activation, std::size_t gradient)
    : device_(device),
      parameters_(device.allocate(std::max(parameter_arrays * largest_parameters, model_floats))),
      activations_(device.allocate(3 * activation)),
      gradient_(device.allocate(gradient)),
      labels_(device, activation),
      rows_(device, activation),
      loss_(device, 1) {
  device.run(Fill{1e-3f, parameters_.span()});
  device.run(Fill{0.5f, activations_.span()});
  if (!device.computes()) return;
  const core::RandomStream random(1, core::Purpose::generator);
  std::vector<float> drawn(gradient);
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = static_cast<float>(2 * random.uniform(i) - 1);
  device.transfer(std::span<const float>(drawn), gradient_.span());
}

}  // namespace paragrad::backend
