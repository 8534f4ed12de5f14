#include "strategies/data_parallel.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "comm/allreduce.hpp"
#include "strategies/saturation.hpp"

namespace paragrad::strategies {

void GradientOptions::describe(core::OptionList& list) {
  list.group("Gradient exchange");
  list.number("bucket-bytes", bucket_bytes, core::any_count,
              "size of a gradient bucket in bytes (0: one bucket for all gradients)");
  list.flag("overlap", overlap, "exchange buckets during the backward pass")
      .when(!buffered, "has no effect with `buffered`, which exchanges gradients during the next minibatch anyway")
      .when(bucket_bytes > 0, "has no effect without buckets: give `bucket-bytes` too");
  list.uses("gradient-bits");
  list.entry("compression", compression, comm::compression_catalogue, "gradient compression").off("none");
  list.flag("buffered", buffered, "exchange each gradient during the next minibatch, and apply it one minibatch late");
  list.uses("balance");
}

DataParallel::DataParallel(const GradientOptions& options, const StrategyContext& context)
    : ExchangingStrategy(Share::minibatch),
      sum_(comm::make_gradient_sum(options.compression, context.settings, context.seed)),
      bucket_elements_(options.bucket_bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                                 : std::max<std::size_t>(1, options.bucket_bytes / sizeof(float))),
      overlap_(options.overlap),
      buffered_(options.buffered) {}

Remarks DataParallel::explain(const Extent& extent) const {
  if (extent.communicator == nullptr || extent.workers == 1) return {};
  return {.collective = sum_->explain(*extent.communicator, std::min(extent.parameters, bucket_elements_))};
}

void DataParallel::start(comm::Worker& worker, Replica& replica) {
  if (!exchanges(worker.size())) return;
  std::vector<core::Range> buckets;
  for (const core::Range stage : replica.stages)
    for (const core::Range bucket : buckets_of(replica, stage)) buckets.push_back(bucket);
  sum_->start(worker.comm(), replica.layout, buckets);
  if (buffered_) travelling_ = worker.device().allocate(replica.parameters.size());
  travels_ = 0;
}

std::vector<core::Range> DataParallel::buckets_of(const Replica& replica, core::Range stage) const {
  const std::size_t count = std::max<std::size_t>(1, stage.size() / bucket_elements_);
  std::vector<core::Range> buckets;
  std::size_t end = stage.end;
  for (std::size_t i = count; i-- > 0 && end > stage.begin;) {
    const std::size_t wanted = stage.begin + core::part_of(stage.size(), count, i).begin;
    const std::size_t begin = std::max(stage.begin, comm::cut_below(replica.layout, sum_->grain(), wanted));
    if (begin < end) buckets.push_back({begin, end});
    end = begin;
  }
  return buckets;
}

void DataParallel::launch(comm::Worker& worker, core::Range bucket, std::span<float> gradient) {
  worker.launch([this, bucket, gradient](comm::Communicator& comm) { (*sum_)(comm, bucket, gradient); });
}

void DataParallel::gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) {
  if (range.empty()) return;
  const std::span<float> gradient = replica.optimiser.gradients();
  if (announced_ == 0 && !buffered_) sum_->set_samples(static_cast<double>(replica.step.samples));
  announced_ += range.size();
  const bool all = range.size() == gradient.size();  // no computation left to overlap with
  for (const core::Range bucket : buckets_of(replica, range)) {
    if (!overlap_ || all || buffered_)
      waiting_.push_back(bucket);
    else
      launch(worker, bucket, gradient);
  }
}

void DataParallel::step(comm::Worker& worker, Replica& replica) {
  if (std::exchange(announced_, 0) != replica.parameters.size())
    throw std::logic_error("a step before all of the gradient was announced");
  if (buffered_) return step_late(worker, replica);
  for (const core::Range bucket : waiting_) (*sum_)(worker.comm(), bucket, replica.optimiser.gradients());
  waiting_.clear();
  worker.join();
  update(worker, replica, replica.step);
}

// Starts the exchange of the gradient just computed, and applies the sum that has arrived meanwhile.
void DataParallel::step_late(comm::Worker& worker, Replica& replica) {
  worker.join();
  replica.optimiser.swap_gradients(travelling_);
  sum_->set_samples(static_cast<double>(replica.step.samples));
  for (const core::Range bucket : waiting_) launch(worker, bucket, travelling_.span());
  waiting_.clear();
  if (travels_ != 0) update(worker, replica, travelling_step_);
  travelling_step_ = replica.step;
  travels_ = 1;
}

void DataParallel::show_model(comm::Worker& worker, Replica& replica) {
  if (travels_ == 0) return;
  worker.join();
  replica.optimiser.swap_gradients(travelling_);
  update(worker, replica, travelling_step_);
  travels_ = 0;
}

void DataParallel::update(comm::Worker& worker, Replica& replica, const optim::Step& step) {
  replica.optimiser.begin_step();
  worker.run_kernels([&](backend::KernelQueue& queue) {
    replica.optimiser.update(queue, {0, replica.parameters.size()}, step, replica.parameters);
  });
}

Remarks DataParallel::report(comm::Worker& worker) {
  return remarks_on_saturation(worker, exchanges(worker.size()) ? sum_->saturated(worker.comm()) : std::nullopt, "gradients",
                               "compression");
}

void DataParallel::describe_state(core::StateView& state) {
  sum_->describe_state(state);
  if (!buffered_) return;
  state.add("travelling", travelling_.span(), core::Rescale::equal);
  state.add("travels", travels_, core::Rescale::equal);
  travelling_step_.describe_state(state, "travelling_step");
}

StrategyEntry data_parallel_entry() {
  return entry_of<DataParallel, GradientOptions>(
      {.name = "data_parallel", .summary = "sum the gradients of all workers at every minibatch"}, Share::minibatch);
}

}  // namespace paragrad::strategies
