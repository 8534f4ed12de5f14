#include "train/learners/tensor_parallel_learner.hpp"

#include "backend/kernels/copy.hpp"
#include "comm/operations.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::train {
namespace {

/// The parts of a replica are few and close together.
constexpr const char* between_parts = "direct";

}  // namespace

TensorParallelLearner::TensorParallelLearner(comm::Worker& peers, backend::Device& device,
                                             std::shared_ptr<const nn::TensorParallel> network,
                                             const TrainingOptions& options, std::size_t minibatch, bool bare_gradient,
                                             std::size_t rows_per_sample)
    : PeerLearner(peers, between_parts, device, network->own(), options, minibatch, bare_gradient, rows_per_sample),
      network_(std::move(network)) {
  if (optimiser().needs_all())
    throw core::ConfigError(core::format(
        "optimiser '{}' needs whole matrices, but `tensor-parallel` gives each worker a part: choose another optimiser",
        optim::describe(options.optimiser)));
}

void TensorParallelLearner::restore(std::span<const float> model) {
  if (!computes() || model.empty()) return;
  std::vector<float> part(network_->model_size(network_->index()));
  network_->cut(network_->index(), model, part);
  NetworkLearner::restore(part);
}

std::vector<float> TensorParallelLearner::snapshot() {
  const auto parts = comm::neighbouring_ranges(static_cast<int>(network_->workers()),
                                               [&](std::size_t k) { return network_->model_size(k); });
  core::Arena all = device().allocate(model_size());
  const std::span<float> own = parts[network_->index()].of(all.span());
  peers().run_kernels([&](backend::KernelQueue& queue) {
    queue.run(backend::Copy{parameters(), own.first(parameters().size())});
    if (!buffers().empty()) queue.run(backend::Copy{buffers(), own.subspan(parameters().size())});
  });
  comm::AllGather{between_parts}(peers().comm(), comm::Parts(parts), all.span());
  if (!computes()) return {};
  std::vector<float> in_parts(model_size()), model(model_size());
  device().transfer(std::span<const float>(all.span()), std::span(in_parts));
  for (std::size_t k = 0; k < network_->workers(); ++k)
    network_->join(k, parts[k].of(std::span<const float>(in_parts)), model);
  return model;
}

MakeLearner tensor_parallel_learners(comm::Worker& peers, std::shared_ptr<const nn::Graph> graph,
                                     const TrainingOptions& options, std::size_t rows_per_sample) {
  const auto network = std::make_shared<const nn::TensorParallel>(std::move(graph), static_cast<std::size_t>(peers.size()),
                                                                  static_cast<std::size_t>(peers.rank()));
  return [&peers, network, &options, rows_per_sample](backend::Device& device, std::size_t minibatch, bool bare_gradient) {
    return std::make_unique<TensorParallelLearner>(peers, device, network, options, minibatch, bare_gradient,
                                                   rows_per_sample);
  };
}

}  // namespace paragrad::train
