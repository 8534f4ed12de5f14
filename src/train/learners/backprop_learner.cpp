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

std::size_t BackpropLearner::gradient(backend::KernelQueue& queue, const Stage& stage, std::size_t samples,
                                      const NextBatch& next, const optim::Step& step, backend::LossSum* into) {
  const float keep = optimiser().keep(step);
  std::size_t scored = 0;
  if (stage.steps.begin == 0) {
    if (samples == 0)
      run_kernels(queue, [&](backend::KernelQueue& kernels) { kernels.run(backend::Scale{keep, optimiser().gradients()}); });
    scored = pass_until_last_loss(queue, samples, next, keep, into);
  }
  if (samples > 0) do_backward(queue, stage.steps, last_, sink_of_last(samples, keep), [](core::Range) {});
  return scored;
}

std::size_t BackpropLearner::descend(backend::KernelQueue& queue, std::size_t samples, const NextBatch& next,
                                     const optim::Step& step, backend::LossSum* into) {
  if (samples == 0) return 0;
  if (queue.computes()) optimiser().begin_step();
  const float keep = optimiser().keep(step);
  const std::size_t scored = pass_until_last_loss(queue, samples, next, keep, into);
  nn::GradientSink sink = sink_of_last(samples, keep);
  if (optimiser().descends()) {
    sink.descent = {step.rate, step.decay, parameters()};
    backward(queue, sink, [](core::Range) {});
  } else if (optimiser().needs_all()) {
    backward(queue, sink, [](core::Range) {});
    optimiser().update(queue, {0, parameters().size()}, step, parameters());
  } else {
    backward(queue, sink, [&](core::Range range) { optimiser().update(queue, range, step, parameters()); });
  }
  if (queue.computes()) device().submit();
  return scored;
}

std::size_t BackpropLearner::pass_until_last_loss(backend::KernelQueue& queue, std::size_t samples, const NextBatch& next,
                                                  float keep, backend::LossSum* into) {
  std::size_t scored = 0;
  nn::GradientSink sink{optimiser().gradients(), keep};
  for (std::size_t done = 0; done < samples;) {
    if (done > 0) {
      backward(queue, sink, [](core::Range) {});
      sink.keep = 1;
    }
    last_ = next(std::min(samples - done, largest_batch()));
    done += last_.units();
    do_pass(queue, last_, into);
    scored += last_.scored();
  }
  return scored;
}

nn::GradientSink BackpropLearner::sink_of_last(std::size_t samples, float keep) {
  const bool only_one = samples == last_.units();
  return {optimiser().gradients(), only_one ? keep : 1.f};
}

void BackpropLearner::backward(backend::KernelQueue& queue, nn::GradientSink sink, const nn::GradientReady& ready) {
  do_backward(queue, {0, step_count()}, last_, sink, ready);
}

std::size_t BackpropLearner::evaluate(backend::KernelQueue& queue, std::size_t samples, const NextBatch& next,
                                      backend::LossSum* into) {
  std::size_t scored = 0;
  for (std::size_t done = 0; done < samples;) {
    const data::Batch batch = next(std::min(samples - done, largest_batch()));
    done += batch.units();
    do_score(queue, batch, into);
    if (queue.computes()) device().submit();
    scored += batch.scored();
  }
  return scored;
}

}  // namespace paragrad::train
