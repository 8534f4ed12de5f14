#include "dist/data_parallel.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "comm/nonblocking.hpp"

namespace paragrad::dist {

DataParallel::DataParallel(const StrategyOptions& options)
    : allreduce_(comm::make_allreduce(options.collective)),
      bucket_elements_(options.bucket_bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                                 : std::max<std::size_t>(1, options.bucket_bytes / sizeof(float))),
      overlap_(options.overlap) {}

void DataParallel::gradient_ready(comm::Worker& worker, Replica& replica, core::Range range) {
  if (range.empty()) return;
  const std::span<float> gradient = replica.optimiser.gradients();
  announced_ += range.size();
  const bool all = range.size() == gradient.size();  // nothing is left to compute meanwhile
  const std::size_t buckets = std::max<std::size_t>(1, range.size() / bucket_elements_);
  for (std::size_t i = buckets; i-- > 0;) {
    const core::Range part = core::part_of(range.size(), buckets, i);
    const core::Range bucket{range.begin + part.begin, range.begin + part.end};
    if (!overlap_ || all)
      waiting_.push_back(bucket);
    else
      comm::start(worker, *allreduce_, bucket.of(gradient));
  }
}

void DataParallel::step(comm::Worker& worker, Replica& replica) {
  if (std::exchange(announced_, 0) != replica.parameters.size())
    throw std::logic_error("a step before all of the gradient was announced");
  for (const core::Range bucket : waiting_) (*allreduce_)(worker.comm(), bucket.of(replica.optimiser.gradients()));
  waiting_.clear();
  worker.join();
  worker.run_kernels([&](backend::Device& device) {
    replica.optimiser.update(device, {0, replica.parameters.size()}, replica.step, replica.parameters);
  });
}

}  // namespace paragrad::dist
