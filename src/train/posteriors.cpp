#include "train/posteriors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "nn/model.hpp"

namespace paragrad::train {
namespace {

void log_softmax(std::span<float> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - most);
  const double log_sum = most + std::log(sum);
  for (float& x : logits) x = static_cast<float>(static_cast<double>(x) - log_sum);
}

/// Rows of a batch with their outputs.
class ScoredRows {
 public:
  ScoredRows(std::size_t outputs, std::size_t most_rows) : width_(outputs), message_(most_rows * (1 + outputs)) {}

  void clear() { rows_ = 0; }
  void add(std::uint32_t row, std::span<const float> outputs) {
    const auto entry = entry_of(rows_++);
    entry[0] = std::bit_cast<float>(row);
    std::ranges::copy(outputs, entry.begin() + 1);
  }
  void place(std::span<float> all) {
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto entry = entry_of(i);
      const std::size_t row = std::bit_cast<std::uint32_t>(entry[0]);
      std::ranges::copy(entry.subspan(1), all.subspan(row * width_, width_).begin());
    }
  }

  void send(comm::Communicator& comm) { comm.send(0, tag, std::span<const float>(message_).first(rows_ * (1 + width_))); }
  void receive(comm::Communicator& comm, int from) {
    rows_ = comm.receive(from, tag, std::span(message_)).bytes / sizeof(float) / (1 + width_);
  }

 private:
  static constexpr int tag = 0;

  std::span<float> entry_of(std::size_t i) { return std::span(message_).subspan(i * (1 + width_), 1 + width_); }

  std::size_t width_;
  std::size_t rows_ = 0;
  std::vector<float> message_;  // [rows][the row's number in the subset, as bits; outputs]
};

/// The network with its parameters on a device.
class Scoring {
 public:
  Scoring(backend::Device& device, const TrainingData& source, std::span<const float> parameters, std::size_t together)
      : device_(device),
        width_(source.network->outputs()),
        model_(device, source.network, together * source.most_rows_per_sample()),
        parameters_(device.allocate(model_.parameter_count())) {
    if (!device.computes()) throw std::logic_error("posteriors need a device that computes");
    check_size(source, parameters);
    device.transfer(parameters.first(parameters_.size()), parameters_.span());
    device.transfer(parameters.subspan(parameters_.size()), model_.buffers());
  }

  /// The rows of the batch that have a label.
  void run(const data::Batch& batch, ScoredRows& into) {
    std::vector<float> outputs(batch.size() * width_);
    std::vector<std::int32_t> labels(batch.size());
    std::vector<std::uint32_t> rows(batch.size());
    device_.transfer(model_.forward(device_, parameters_.span(), batch, false), std::span(outputs));
    device_.transfer(batch.labels, std::span(labels));
    device_.transfer(batch.rows, std::span(rows));
    into.clear();
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (labels[i] != data::no_label) into.add(rows[i], std::span(outputs).subspan(i * width_, width_));
  }

 private:
  backend::Device& device_;
  std::size_t width_;
  nn::Model model_;
  core::Arena parameters_;
};

}  // namespace

std::vector<float> outputs_of(comm::Worker& worker, const WorkerInput& input, std::span<const float> parameters,
                              data::Subset subset) {
  const TrainingData& source = input.source;
  if (source.windows[0])
    throw core::ConfigError(
        core::format("'{}' holds a text: outputs are kept for samples that have labels of their own", source.info.path));
  const std::size_t together = source.has_sequences() ? 16 : 256, outputs = source.network->outputs();
  Scoring scoring(worker.device(), source, parameters, together);
  const std::size_t samples = source.samples(subset), batches = (samples + together - 1) / together;
  const auto me = static_cast<std::size_t>(worker.rank()), workers = static_cast<std::size_t>(worker.size());
  std::vector<std::uint32_t> mine;
  for (std::size_t i = me; i < batches; i += workers)
    for (std::size_t k = i * together; k < std::min(samples, (i + 1) * together); ++k)
      mine.push_back(static_cast<std::uint32_t>(k));
  const auto stream = input.open(worker.device(), subset, together);
  const std::size_t count = mine.size();
  stream->prefetch({count, std::move(mine)});
  stream->advance();
  ScoredRows scored(outputs, together * source.most_rows_per_sample());
  std::vector<float> result(me == 0 ? source.info.samples[static_cast<std::size_t>(subset)] * outputs : 0);
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t owner = i % workers;
    if (owner == me) worker.compute({}, [&] { scoring.run(stream->next(together), scored); });
    if (owner == me && me != 0) scored.send(worker.comm());
    if (owner != me && me == 0) scored.receive(worker.comm(), static_cast<int>(owner));
    if (me == 0) scored.place(result);
  }
  return result;
}

std::vector<float> log_posteriors(comm::Worker& worker, const WorkerInput& input, std::span<const float> parameters,
                                  data::Subset subset) {
  std::vector<float> result = outputs_of(worker, input, parameters, subset);
  const std::size_t classes = input.source.network->outputs();
  for (std::size_t at = 0; at < result.size(); at += classes) log_softmax(std::span(result).subspan(at, classes));
  return result;
}

std::vector<double> log_priors(const data::Dataset& dataset) {
  const std::span<const float> weights = dataset.columns(data::Subset::train).weights;
  std::vector<double> counts(dataset.info().classes, 0), priors;
  for (std::size_t i = 0; i < dataset.info().samples[0]; ++i) {
    const auto label = static_cast<std::size_t>(dataset.label(data::Subset::train, i));  // below zero: beyond all
    if (label >= counts.size())
      throw core::ConfigError(
          core::format("data file '{}': the label in row {} of the training set is out of range for {} classes",
                       dataset.info().path, i, counts.size()));
    counts[label] += weights.empty() ? 1 : weights[i];
  }
  for (double& count : counts) count = std::max(count, 1.0);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (const double count : counts) priors.push_back(std::log(count / all));
  return priors;
}

}  // namespace paragrad::train
