#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {

Entry contiguous_partitioner() {
  return partitioner(
      {.name = "contiguous",
       .summary = "a stretch of the training set for each worker, in the order of the file: of a text, a passage"},
      [](const Task& task) {
        task.units.require_order();
        std::vector<std::uint64_t> ends{0};
        for (std::size_t unit = 0; unit < task.units.count(); ++unit) ends.push_back(task.units.samples_of(unit).end);
        const std::vector<std::uint64_t> cuts = cut_at_ends(ends, task.workers);
        Shares shares(task.workers);
        for (std::uint32_t unit = 0, worker = 0; unit < task.units.count(); ++unit) {
          if (ends[unit] == cuts[worker + 1]) ++worker;
          shares[worker].push_back(unit);
        }
        return of_shares(task, std::move(shares));
      });
}

}  // namespace paragrad::data::partitioners
