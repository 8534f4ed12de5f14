#include "train/model_mean.hpp"

#include <cmath>

#include "backend/kernels/copy.hpp"
#include "backend/kernels/move_towards.hpp"

namespace paragrad::train {

ModelMean::ModelMean(double decay, comm::Worker& worker, Learner& learner)
    : decay_(decay), worker_(worker), learner_(learner) {
  if (decay == 0) return;
  const std::size_t size = learner.parameters().size() + learner.buffers().size();
  mean_ = worker.device().allocate(size);
  model_ = worker.device().allocate(size);
}

void ModelMean::for_parts(const Part& part) {
  const std::size_t parameters = learner_.parameters().size();
  const core::Range of_parameters{0, parameters}, of_buffers{parameters, mean_.size()};
  worker_.run_kernels([&](backend::KernelQueue& queue) {
    part(queue, learner_.parameters(), of_parameters.of(mean_.span()), of_parameters.of(model_.span()));
    if (!of_buffers.empty()) part(queue, learner_.buffers(), of_buffers.of(mean_.span()), of_buffers.of(model_.span()));
  });
}

void ModelMean::take_in() {
  if (decay_ == 0) return;
  blocks_ += 1;
  const auto share = static_cast<float>((1 - decay_) / (1 - std::pow(decay_, blocks_)));
  for_parts([&](backend::KernelQueue& queue, std::span<float> learner, std::span<float> mean, std::span<float>) {
    queue.run(backend::MoveTowards{share, learner, mean});
  });
}

void ModelMean::show() {
  if (blocks_ == 0) return;
  for_parts([&](backend::KernelQueue& queue, std::span<float> learner, std::span<float> mean, std::span<float> model) {
    queue.run(backend::Copy{learner, model});
    queue.run(backend::Copy{mean, learner});
  });
  shown_ = true;
}

void ModelMean::resume() {
  if (!shown_) return;
  for_parts([&](backend::KernelQueue& queue, std::span<float> learner, std::span<float>, std::span<float> model) {
    queue.run(backend::Copy{model, learner});
  });
  shown_ = false;
}

void ModelMean::forget() {
  blocks_ = 0;
  shown_ = false;
}

void ModelMean::describe_state(core::StateView& state) {
  if (decay_ == 0) return;
  state.add("mean", mean_.span(), core::Rescale::mean);  // workers have buffers of their own
  state.add("blocks", blocks_, core::Rescale::equal);
}

}  // namespace paragrad::train
