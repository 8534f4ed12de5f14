#include "train/learners/network_learner.hpp"

#include "core/errors.hpp"
#include "core/format.hpp"
#include "train/step_sizes.hpp"

namespace paragrad::train {

NetworkLearner::NetworkLearner(backend::Device& device, std::shared_ptr<const nn::Graph> graph,
                               const TrainingOptions& options, std::size_t minibatch, bool bare_gradient,
                               std::size_t rows_per_sample, std::unique_ptr<nn::ReplicaPeers> peers)
    : BackpropLearner(device, graph->layout(), update_rule(options), bare_gradient),
      seed_(options.seed),
      rows_per_sample_(rows_per_sample),
      peers_(std::move(peers)),
      model_(device, std::move(graph), micro_batch(options, minibatch) * rows_per_sample, peers_.get()),
      loss_(nn::make_loss(options.loss, options.loss_settings)),
      loss_of_scores_(nn::make_loss(nn::loss_of_scores(options.loss))),
      needs_two_rows_(model_.graph().needs_two_rows()) {}

void NetworkLearner::restore(std::span<const float> model) {
  if (!computes() || model.empty()) return;
  device().transfer(model.first(parameters().size()), parameters());
  if (!buffers().empty()) device().transfer(model.subspan(parameters().size()), buffers());
}

std::vector<float> NetworkLearner::snapshot() {
  if (!computes()) return {};
  std::vector<float> model(NetworkLearner::model_size());
  const std::span<float> all(model);
  device().transfer(std::span<const float>(parameters()), all.first(parameters().size()));
  if (!buffers().empty()) device().transfer(std::span<const float>(buffers()), all.subspan(parameters().size()));
  return model;
}

void NetworkLearner::describe_state(core::StateView& state) {
  if (!buffers().empty()) state.add("buffers", buffers(), core::Rescale::mean);
}

void NetworkLearner::do_steps(backend::KernelQueue& queue, core::Range steps, const data::Batch& batch,
                              nn::GradientSink sink, backend::LossSum* into, const nn::GradientReady& ready) {
  if (steps.begin == 0) {
    if (needs_two_rows_ != nullptr && batch.size() == 1)  // as with `balance`; otherwise this was found before training
      throw core::ConfigError(core::format(
          "a worker's part of a minibatch became a single row, over which {} ({}) has no variance: give a larger "
          "`minibatch`, fewer workers or, with data_parallel, `sync-batch-norm`",
          needs_two_rows_->name, needs_two_rows_->op->name()));
    model_.forward(queue, parameters(), batch);
    model_.loss(queue, *loss_, batch, into);
  }
  model_.backward_steps(queue, steps, parameters(), batch, sink, ready);
}

void NetworkLearner::do_score(backend::KernelQueue& queue, const data::Batch& batch, backend::LossSum* into) {
  model_.forward(queue, parameters(), batch, false);
  model_.loss(queue, *loss_of_scores_, batch, into);
}

MakeLearner network_learners(std::shared_ptr<const nn::Graph> graph, const TrainingOptions& options,
                             std::size_t rows_per_sample) {
  return [graph = std::move(graph), &options, rows_per_sample](backend::Device& device, std::size_t minibatch,
                                                               bool bare_gradient) {
    return std::make_unique<NetworkLearner>(device, graph, options, minibatch, bare_gradient, rows_per_sample);
  };
}

}  // namespace paragrad::train
