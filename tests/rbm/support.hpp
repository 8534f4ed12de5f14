#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "backend/device.hpp"
#include "rbm/rbm.hpp"
#include "tests/rbm/exact.hpp"

namespace paragrad::rbm::testing {

inline const nn::GradientReady nobody = [](core::Range) {};

/// Uniform in ±size.
inline std::vector<float> random_numbers(std::size_t count, float size, std::uint32_t stream = 0) {
  const core::RandomStream random(3, core::Purpose::generator, stream);
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = size * static_cast<float>(2 * random.uniform(i) - 1);
  return numbers;
}

inline std::vector<std::uint32_t> rows_from(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

/// A machine with parameters so large that its chains take several steps to forget where they began.
inline ExactMachine machine(std::size_t visible, std::size_t hidden, float size = 4) {
  const Shape shape{visible, hidden};
  return {shape, random_numbers(shape.parameter_count(), size)};
}

/// `times` copies of binary patterns, one after the other and again.
struct Patterns {
  std::vector<Values> each;
  std::vector<float> features;  // [times * patterns][visible]
  std::size_t samples;

  Patterns(std::size_t visible, const std::vector<std::size_t>& codes, std::size_t times) : samples(times * codes.size()) {
    for (const std::size_t code : codes) each.push_back(state(code, visible));
    for (std::size_t s = 0; s < samples; ++s)
      for (const double v : each[s % each.size()]) features.push_back(static_cast<float>(v));
  }
};

/// A machine on the device that it was made for.
class DeviceRbm : public Rbm {
 public:
  DeviceRbm(backend::Device& device, Shape shape, const RbmOptions& options, std::size_t max_batch,
            std::uint32_t first_chain = 0)
      : Rbm(device, shape, options, max_batch, first_chain), device_(device) {}

  backend::Device& device() { return device_; }
  void gradient(const nn::GradientSink& sink, const nn::GradientReady& ready) { Rbm::gradient(device_, sink, ready); }

 private:
  backend::Device& device_;
};

// What a machine in the host's memory adds to a sum.

inline double contrast(DeviceRbm& rbm, std::span<const float> parameters, std::span<const float> v,
                       std::span<const std::uint32_t> rows, const Draws& draws) {
  backend::LossSum sum;
  rbm.contrast(rbm.device(), parameters, v, rows, draws, &sum);
  rbm.advance_chains();
  return sum.loss;
}

inline double reconstruction_error(DeviceRbm& rbm, std::span<const float> parameters, std::span<const float> v) {
  backend::LossSum sum;
  rbm.reconstruction_error(rbm.device(), parameters, v, &sum);
  return sum.loss;
}

inline double free_energy(DeviceRbm& rbm, std::span<const float> parameters, std::span<const float> v) {
  backend::LossSum sum;
  rbm.free_energy(rbm.device(), parameters, v, &sum);
  return sum.free_energy;
}

inline std::vector<float> gradient_of(DeviceRbm& rbm, const std::vector<float>& parameters, std::span<const float> v,
                                      const std::vector<std::uint32_t>& rows, const Draws& draws) {
  contrast(rbm, parameters, v, rows, draws);
  std::vector<float> g(parameters.size());
  rbm.gradient({g}, nobody);
  return g;
}

/// Mean gradient per sample and its standard error, from the means of minibatches whose draws are independent.
struct Estimate {
  Values mean, error;

  bool agrees_with(const Values& exact, double deviations) const {
    bool agrees = true;
    for (std::size_t i = 0; i < mean.size(); ++i)
      agrees = agrees && std::abs(mean[i] - exact[i]) <= deviations * error[i] + 1e-7;
    return agrees;
  }
};

inline Estimate estimate(DeviceRbm& rbm, const std::vector<float>& parameters, const Patterns& data, int minibatches,
                         int skip = 0) {
  const double n = minibatches, samples = static_cast<double>(data.samples);
  Values sum(parameters.size()), squares(parameters.size());
  for (int m = 0; m < skip + minibatches; ++m) {
    const auto rows = rows_from(static_cast<std::uint32_t>(m) * static_cast<std::uint32_t>(data.samples), data.samples);
    const auto g = gradient_of(rbm, parameters, data.features, rows, {.seed = 7, .epoch = 1});
    if (m < skip) continue;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double value = static_cast<double>(g[i]) / samples;
      sum[i] += value;
      squares[i] += value * value;
    }
  }
  Estimate result{sum, squares};
  for (std::size_t i = 0; i < sum.size(); ++i) {
    result.mean[i] = sum[i] / n;
    result.error[i] = std::sqrt(std::max(0., squares[i] / n - result.mean[i] * result.mean[i]) / n);
  }
  return result;
}

inline Values per_sample(Values gradient, std::size_t samples) {
  for (double& value : gradient) value /= static_cast<double>(samples);
  return gradient;
}

inline double distance(const Values& a, const Values& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  return distance(Values(a.begin(), a.end()), Values(b.begin(), b.end()));
}

}  // namespace paragrad::rbm::testing
