#include "train/learners/learner_cost.hpp"

namespace paragrad::train {

LearnerCost::LearnerCost(Learner& learner, std::shared_ptr<const backend::CallTimes> call_times)
    : learner_(learner),
      meta_(backend::make_device("meta")),
      batches_(*meta_, learner.inputs(), learner.largest_batch()),
      next_([this](std::size_t n) { return batches_.next(n); }),
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
  for (const Learner::Stage& stage : stages)
    costs.push_back(count([&] { learner_.gradient(*meta_, stage, samples, next_, {}, loss_.data()); }));
  return costs;
}

backend::WorkMeter LearnerCost::descend(std::size_t samples) {
  return count([&] { learner_.descend(*meta_, samples, next_, {}, loss_.data()); });
}

backend::WorkMeter LearnerCost::evaluate(std::size_t samples) {
  return count([&] { learner_.evaluate(*meta_, samples, next_, loss_.data()); });
}

}  // namespace paragrad::train
