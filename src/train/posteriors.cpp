#include "train/posteriors.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/input/worker_input.hpp"

namespace paragrad::train {
namespace {

void log_softmax(std::span<const float> logits, std::span<float> out) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - most);
  const double log_sum = most + std::log(sum);
  for (std::size_t k = 0; k < logits.size(); ++k) out[k] = static_cast<float>(static_cast<double>(logits[k]) - log_sum);
}

}  // namespace

std::vector<float> log_posteriors(backend::Device& device, const TrainingData& source, std::span<const float> parameters,
                                  data::Subset subset) {
  if (!device.computes()) throw std::logic_error("posteriors need a device that computes");
  const std::size_t together = source.has_sequences() ? 16 : 256, classes = source.info.classes;
  nn::Model model(device, source.network, together * source.most_rows_per_sample());
  if (parameters.size() != source.network->model_size())
    throw core::ConfigError(core::format("the checkpoint has {} parameters, but its model has {}", parameters.size(),
                                         source.network->model_size()));
  core::Arena own = device.allocate(model.parameter_count());
  device.transfer(parameters.first(own.size()), own.span());
  device.transfer(parameters.subspan(own.size()), model.buffers());
  std::vector<float> result(source.info.samples[static_cast<std::size_t>(subset)] * classes);
  std::vector<std::uint32_t> all(source.samples(subset));
  std::iota(all.begin(), all.end(), 0u);
  const auto samples = WorkerInput(source).open(device, subset, together);
  samples->prefetch({source.samples(subset), std::move(all)});
  samples->advance();
  for (auto batch = samples->next(together); batch.size() > 0; batch = samples->next(together)) {
    std::vector<float> outputs(batch.size() * classes);
    device.transfer(model.forward(device, own.span(), batch, false), std::span(outputs));
    std::vector<std::int32_t> labels(batch.size());
    std::vector<std::uint32_t> rows(batch.size());
    device.transfer(batch.labels, std::span(labels));
    device.transfer(batch.rows, std::span(rows));
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (labels[i] != data::no_label)
        log_softmax(std::span(outputs).subspan(i * classes, classes), std::span(result).subspan(rows[i] * classes, classes));
  }
  return result;
}

std::vector<double> log_priors(const data::Dataset& dataset) {
  std::vector<double> counts(dataset.info().classes, 0), priors;
  for (std::size_t i = 0; i < dataset.info().samples[0]; ++i)
    ++counts[static_cast<std::size_t>(dataset.label(data::Subset::train, i))];
  for (double& count : counts) count = std::max(count, 1.0);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (const double count : counts) priors.push_back(std::log(count / all));
  return priors;
}

}  // namespace paragrad::train
