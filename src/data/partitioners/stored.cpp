#include "data/partitioners/partitioner.hpp"

namespace paragrad::data::partitioners {

Entry stored_partitioner() {
  Entry entry{
      {.name = "stored",
       .parameter = ":NAME",
       .example = ":mine",
       .summary = "as another program has written it to the data file: /partitions/8x4-s1-stored:NAME for 8 workers, 4 "
                  "blocks and seed 1"},
      {}};
  entry.make = [](std::string_view name) {
    if (name.find('/') != name.npos) throw core::OptionError("partition", core::format("'{}' contains a slash", name));
    return Partitioner{
        std::string(name), [kind = core::format("stored:{}", name)](const Task& task) -> Partition {
          const PartitionUnits& units = task.units;
          if (units.are_windows() || units.are_imaginary())
            throw core::ConfigError(core::format("the {} of {} depend on the model, so that no partition of them is stored",
                                                 units.noun(), units.what()));
          throw core::ConfigError(core::format("{} has no partition {}x{}-s{}-{}{}: store it there", units.what(),
                                               task.workers, task.blocks, task.seed, kind,
                                               units.are_utterances() ? " of whole utterances" : ""));
        }};
  };
  return entry;
}

}  // namespace paragrad::data::partitioners
