// Training by connectionist temporal classification.
#include "catch.hpp"
#include "core/errors.hpp"
#include "support.hpp"

using namespace paragrad;
using test::SmallTask;

namespace {

/// The small task, of whose sequences only the classes are known that come one after the other.
struct SpokenTask : SmallTask {
  SpokenTask() {
    options.model = "8-blstm10-7";
    options.loss = "ctc";
    options.optimiser.name = "adam";
    options.schedule.initial_rate = 0.01;
    options.minibatch = 4;
    options.blocks = 2;
    options.epochs = 1;
  }
  std::size_t tokens(data::Subset subset) const {
    const auto dataset = data::Dataset::open(options.data);
    const auto offsets = dataset->offsets(subset);
    std::size_t count = 0;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      for (std::int64_t row = offsets[s]; row < offsets[s + 1]; ++row) {
        const auto at = static_cast<std::size_t>(row);
        count += row == offsets[s] || dataset->label(subset, at) != dataset->label(subset, at - 1);
      }
    return count;
  }
};

}  // namespace

TEST_CASE("a recurrent model learns by ctc what is said, scored per token", "[train]") {
  SpokenTask task;
  task.options.strategy = "sgd";
  const train::Result first = task.simulate(1);
  task.options.epochs = 30;
  const train::Result trained = task.simulate(1);
  CHECK(first.samples == task.tokens(data::Subset::train));
  CHECK(trained.samples == 30 * first.samples);
  CHECK(trained.valid.loss < 0.7 * first.valid.loss);
  CHECK(trained.valid.error < 0.7);
  CHECK(trained.test.error < 0.7);
}

TEST_CASE("workers share minibatches under ctc without a change of the result, and block strategies repeat", "[train]") {
  SpokenTask task;
  task.options.strategy = "data_parallel";
  task.options.splits = 3;
  task.options.epochs = 3;
  const train::Result one = task.simulate(1), three = task.simulate(3);
  CHECK(one.samples == three.samples);
  CHECK(three.valid.loss == Approx(one.valid.loss).epsilon(1e-3));
  task.options.strategy = GENERATE("bmuf", "async_sgd");
  CHECK(task.simulate(3).parameters_sha256 == task.simulate(3).parameters_sha256);
}

TEST_CASE("what ctc cannot be trained on is refused in one sentence", "[train]") {
  SpokenTask task;
  std::string words;
  bool computes = true;
  SECTION("a model without layers for sequences") {
    task.options.model = "8-12-7:sigmoid";
    words = "layers like blstm128";
  }
  SECTION("chunks") {
    task.options.chunks = "3-8+3";
    words = "leave out `chunks`";
  }
  SECTION("no output for the blank") {
    task.options.model = "8-blstm10-6";
    words = "need 7 outputs including the blank";
  }
  SECTION("other features") {
    task.options.model = "9-blstm10-7";
    words = "8 features";
  }
  SECTION("a timing run") {
    computes = false;
    words = "a timing run";
  }
  CHECK_THROWS_WITH(task.simulate(1, sim::free_platform(1), {.device = computes ? "cpu" : "meta"}), contains_text(words));
}
