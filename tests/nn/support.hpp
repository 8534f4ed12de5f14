#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "backend/kernels/affine.hpp"
#include "backend/kernels/losses.hpp"
#include "core/philox.hpp"
#include "nn/model.hpp"

namespace paragrad::nn::testing {

/// A minibatch with memory of its own.
struct Samples {
  std::size_t dim;
  std::vector<float> features;
  std::vector<std::int32_t> labels;

  Samples(std::size_t count, std::size_t dim_, std::size_t classes) : dim(dim_), features(count * dim_), labels(count) {
    const core::RandomStream random(4, core::Purpose::generator);
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(2 * random.uniform(i) - 1);
    for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int32_t>(random.below(classes, 1'000'000 + i));
  }
  data::Batch batch() const { return {features, labels}; }
  data::Batch part(std::size_t begin, std::size_t end) const {
    return {std::span(features).subspan(begin * dim, (end - begin) * dim), std::span(labels).subspan(begin, end - begin)};
  }
};

/// Of outputs in the host's memory.
inline double loss_of(backend::Device& device, Model& model, const std::string& name, const data::Batch& batch) {
  backend::LossSum loss;
  model.loss(device, *make_loss(name), batch, &loss);
  return loss.loss;
}

/// Loss of a multilayer perceptron in double, computed apart from Model.
inline double loss_in_double(const std::vector<std::size_t>& widths, backend::Activation hidden, const std::string& kind,
                             const std::vector<double>& parameters, const Samples& samples) {
  const std::size_t batch = samples.labels.size();
  std::vector<double> x(samples.features.begin(), samples.features.end());
  const double* w = parameters.data();
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    std::vector<double> y(batch * widths[l + 1]);
    const auto f = l + 2 == widths.size() ? backend::Activation::identity : hidden;
    const std::size_t weights = widths[l] * widths[l + 1];
    const std::span<const double> bias{w + weights, widths[l + 1]};
    backend::run_reference(backend::AffineForwardOf<double>{batch, widths[l], widths[l + 1], x, {w, weights}, bias, f, y});
    w += weights + widths[l + 1];
    x = y;
  }
  backend::LossSum sum;
  if (kind == "cross_entropy")
    backend::run_reference(backend::SoftmaxCrossEntropyOf<double>{batch, widths.back(), samples.labels, x, &sum});
  else
    backend::run_reference(backend::SquaredErrorOf<double>{batch, widths.back(), samples.labels, x, &sum});
  return sum.loss;
}

}  // namespace paragrad::nn::testing
