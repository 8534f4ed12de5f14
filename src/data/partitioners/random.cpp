#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {

Entry random_partitioner() {
  return partitioner({.name = "random",
                      .summary = "in a random order, so that the data of all workers are alike",
                      .source = "Chen and Huo, ICASSP 2016"},
                     [](const Task& task) {
                       const PartitionUnits& units = task.units;
                       if (units.are_imaginary())
                         return Partition::of_sizes(units.samples(), task.workers, task.blocks, task.seed);
                       return units.are_utterances()
                                  ? Partition::of_utterances(units.offsets(), task.workers, task.blocks, task.seed)
                                  : Partition::random(units.samples(), task.workers, task.blocks, task.seed);
                     });
}

}  // namespace paragrad::data::partitioners
