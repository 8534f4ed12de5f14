// A warm-up in minibatches against one in epochs.
#include <string>

#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;

TEST_CASE("a warm-up of minibatches ends where one of as many epochs does", "[train]") {
  struct Case {
    std::string strategy;
    std::size_t minibatches;  // of an epoch and a worker
    std::size_t max_blocks = 0, minibatch = 16, max_steps = 0;
    int parallel_start_epoch = 1;
    std::size_t splits = 3;
  };
  for (const Case& one :
       {Case{"async_sgd", 16, 0, 16, 0, 1, 6}, Case{"data_parallel", 40}, Case{"bmuf", 16}, Case{"async_sgd", 16},
        Case{"bmuf", 8, 2}, Case{"bmuf", 4, 0, 0}, Case{"model_averaging", 12, 0, 16, 3}, Case{"bmuf", 40, 0, 16, 0, 2}}) {
    CAPTURE(one.strategy, one.minibatches);
    test::SmallTask task;
    task.options.strategy = one.strategy;
    task.options.max_blocks = one.max_blocks;
    task.options.minibatch = one.minibatch;
    task.options.max_steps = one.max_steps;
    task.options.parallel_start_epoch = one.parallel_start_epoch;
    task.options.splits = one.splits;
    const std::string without = task.simulate(3).parameters_sha256;
    task.options.schedule.warm_up_epochs = 1.5;
    const std::string epochs = task.simulate(3).parameters_sha256;
    task.options.schedule.warm_up_epochs = 0;
    task.options.schedule.warm_up_minibatches = 3 * one.minibatches / 2;
    CHECK(task.simulate(3).parameters_sha256 == epochs);
    CHECK(epochs != without);
  }
}
