#pragma once

#include <algorithm>
#include <stdexcept>

#include "data/sample_stream.hpp"
#include "train/learners/learner.hpp"

namespace paragrad::train {

/// A minibatch on its way from a stream to a learner: it is taken from the stream in micro-batches, as many samples at a
/// time as the learner holds, and each is pushed to the learner before the next is taken. (A whole minibatch cannot be taken
/// and cut afterwards: sequences are packed together, and memory is to be saved.)
class Minibatch {
 public:
  /// The next `samples` samples of the stream, for kernels on `queue`.
  Minibatch(Learner& learner, backend::KernelQueue& queue, data::SampleStream& stream, std::size_t samples)
      : learner_(learner), queue_(queue), stream_(stream), samples_(samples) {}

  // Either all stages of the gradient, in order, or one of the others. They return how many rows have a loss; see Learner.

  std::size_t gradient(const Learner::Stage& stage, const optim::Step& step, backend::LossSum* into) {
    if (stage.steps.begin > 0) return learner_.gradient(queue_, stage, last_, step, into);
    queue_.begin_step();
    return push([&](const MicroBatch& part) { return learner_.gradient(queue_, stage, part, step, into); });
  }
  std::size_t descend(const optim::Step& step, backend::LossSum* into) {
    queue_.begin_step();
    return push([&](const MicroBatch& part) { return learner_.descend(queue_, part, step, into); });
  }
  std::size_t evaluate(backend::LossSum* into) {
    return push([&](const MicroBatch& part) { return learner_.evaluate(queue_, part, into); });
  }

 private:
  template <class Pass>
  std::size_t push(const Pass& pass) {
    std::size_t scored = 0;
    std::size_t done = 0;
    do {
      last_ = {.first = done == 0};
      if (samples_ > 0) last_.batch = stream_.next(std::min(samples_ - done, learner_.largest_batch()));
      if (samples_ > 0 && last_.batch.size() == 0) throw std::logic_error("a stream ended within a minibatch");
      done += last_.batch.units();
      last_.last = done == samples_;
      scored += pass(last_);
    } while (!last_.last);
    return scored;
  }

  Learner& learner_;
  backend::KernelQueue& queue_;
  data::SampleStream& stream_;
  std::size_t samples_;
  MicroBatch last_;
};

}  // namespace paragrad::train
