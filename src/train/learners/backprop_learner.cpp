#include "train/learners/backprop_learner.hpp"

#include <algorithm>

#include "backend/kernels/scale.hpp"

namespace paragrad::train {

std::size_t BackpropLearner::micro_batch(const TrainingOptions& options, std::size_t minibatch) {
  const std::size_t whole = std::max<std::size_t>(minibatch, 1);
  return options.micro_batch == 0 ? whole : std::min(options.micro_batch, whole);
}

std::vector<Learner::Stage> BackpropLearner::stages(std::size_t elements) const {
  std::vector<Stage> result;
  core::Range steps, done{layout().back().range().end, layout().back().range().end};
  for (std::size_t step = 0; step < step_count(); ++step) {
    const core::Range completed = completed_by(step);
    steps.end = step + 1;
    if (!completed.empty()) done.begin = completed.begin;
    if (steps.end < step_count() && (completed.empty() || done.size() < elements)) continue;
    result.push_back({steps, done});
    steps.begin = steps.end;
    done.end = done.begin;
  }
  return result;
}

std::size_t BackpropLearner::gradient(backend::KernelQueue& queue, const Stage& stage, const MicroBatch& part,
                                      const optim::Step& step, backend::LossSum* into) {
  const nn::GradientSink sink = sink_of(part, step);
  const bool begins = stage.steps.begin == 0;
  if (part.batch.size() == 0) {
    if (begins)
      run_kernels(queue, [&](backend::KernelQueue& kernels) {
        kernels.run(backend::Scale{sink.keep, optimiser().gradients()});
      });
    return 0;
  }
  do_steps(queue, part.last ? stage.steps : core::Range{0, step_count()}, part.batch, sink, into, [](core::Range) {});
  return begins ? part.batch.scored() : 0;
}

std::size_t BackpropLearner::descend(backend::KernelQueue& queue, const MicroBatch& part, const optim::Step& step,
                                     backend::LossSum* into) {
  if (part.batch.size() == 0) return 0;
  if (part.first && queue.computes()) optimiser().begin_step();
  nn::GradientSink sink = sink_of(part, step);
  if (!part.last) return pass(queue, part, sink, into, [](core::Range) {});
  const auto update = [&](core::Range range) { optimiser().update(queue, range, step, parameters()); };
  std::size_t scored = 0;
  if (optimiser().descends()) {
    sink.descent = {step.rate, step.decay, parameters()};
    scored = pass(queue, part, sink, into, [](core::Range) {});
  } else if (optimiser().needs_all()) {
    scored = pass(queue, part, sink, into, [](core::Range) {});
    update({0, parameters().size()});
  } else {
    scored = pass(queue, part, sink, into, update);
  }
  if (queue.computes()) device().submit();
  return scored;
}

std::size_t BackpropLearner::evaluate(backend::KernelQueue& queue, const MicroBatch& part, backend::LossSum* into) {
  if (part.batch.size() == 0) return 0;
  do_score(queue, part.batch, into);
  if (queue.computes()) device().submit();
  return part.batch.scored();
}

std::size_t BackpropLearner::pass(backend::KernelQueue& queue, const MicroBatch& part, nn::GradientSink sink,
                                  backend::LossSum* into, const nn::GradientReady& ready) {
  do_steps(queue, {0, step_count()}, part.batch, sink, into, ready);
  return part.batch.scored();
}

nn::GradientSink BackpropLearner::sink_of(const MicroBatch& part, const optim::Step& step) {
  return {optimiser().gradients(), part.first ? optimiser().keep(step) : 1.f};
}

}  // namespace paragrad::train
