#include "train/learners/learner_cost.hpp"

namespace paragrad::train {

LearnerCost::LearnerCost(Learner& learner, std::shared_ptr<const backend::CallTimes> call_times,
                         std::optional<data::Sequence> all_alike)
    : learner_(learner),
      meta_(backend::make_device("meta")),
      samples_(*meta_, learner.inputs(), learner.largest_batch(), all_alike, learner.reads_tokens()),
      loss_(*meta_, 1) {
  meta_->charge_by(std::move(call_times));
}

backend::WorkMeter LearnerCost::count(const std::function<void()>& work) {
  const backend::WorkMeter before = meta_->meter();
  work();
  backend::WorkMeter cost = meta_->meter();
  cost -= before;
  return cost;
}

std::vector<backend::WorkMeter> LearnerCost::gradient(const std::vector<Learner::Stage>& stages, std::size_t samples) {
  std::vector<backend::WorkMeter> costs;
  Minibatch minibatch = this->minibatch(samples);
  for (const Learner::Stage& stage : stages) costs.push_back(count([&] { minibatch.gradient(stage, {}, loss_.data()); }));
  return costs;
}

backend::WorkMeter LearnerCost::descend(std::size_t samples) {
  return count([&] { minibatch(samples).descend({}, loss_.data()); });
}

backend::WorkMeter LearnerCost::evaluate(std::size_t samples) {
  return count([&] { minibatch(samples).evaluate(loss_.data()); });
}

}  // namespace paragrad::train
