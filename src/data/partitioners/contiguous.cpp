#include <numeric>

#include "core/range.hpp"
#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {

Entry contiguous_partitioner() {
  return partitioner(
      {.name = "contiguous",
       .summary = "a stretch of the training set for each worker, in the order of the file: of a text, a passage"},
      [](const Task& task) {
        task.units.require_order();
        Shares shares(task.workers);
        for (std::size_t worker = 0; worker < task.workers; ++worker) {
          const core::Range part = core::part_of(task.units.count(), task.workers, worker);
          shares[worker].resize(part.size());
          std::iota(shares[worker].begin(), shares[worker].end(), static_cast<std::uint32_t>(part.begin));
        }
        return of_shares(task, std::move(shares));
      });
}

}  // namespace paragrad::data::partitioners
