#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/device_array.hpp"
#include "comm/worker.hpp"
#include "train/input/imaginary_stream.hpp"
#include "train/learners/minibatch.hpp"

namespace paragrad::train {

/// The cost of a learner's work, counted without doing it. The simulator needs it in advance, to know how long a worker will
/// be busy.
class LearnerCost {
 public:
  /// call_times: of the worker's device. all_alike: the sequence that every sample is, if it is one.
  LearnerCost(Learner& learner, std::shared_ptr<const backend::CallTimes> call_times,
              std::optional<data::Sequence> all_alike = {});

  /// The cost of each stage of a gradient.
  std::vector<backend::WorkMeter> gradient(const std::vector<Learner::Stage>& stages, std::size_t samples);
  backend::WorkMeter descend(std::size_t samples);
  backend::WorkMeter evaluate(std::size_t samples);

 private:
  backend::WorkMeter count(const std::function<void()>& work);
  Minibatch minibatch(std::size_t samples) { return {learner_, *meta_, samples_, samples}; }

  Learner& learner_;
  std::unique_ptr<backend::Device> meta_;
  ImaginaryStream samples_;
  backend::DeviceArray<backend::LossSum> loss_;
};

/// Runs a learner's task, whose work is at least `expected`, inside Worker::compute; directly if the learner communicates
/// and makes its own computations.
inline void compute(comm::Worker& worker, const Learner& learner, const backend::WorkMeter& expected,
                    const std::function<void()>& task) {
  if (learner.talks()) return task();
  worker.compute(expected, task);
}

}  // namespace paragrad::train
