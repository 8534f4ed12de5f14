// Validations within an epoch, and the model that is best on the validation set.
#include <algorithm>
#include <fstream>
#include <map>

#include "catch.hpp"
#include "comm/real_worker.hpp"
#include "comm/solo_communicator.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "support.hpp"
#include "train/state/checkpoint.hpp"

using namespace paragrad;

namespace {

struct WatchedTask : test::SmallTask {
  WatchedTask() { options.blocks = 5; }

  train::Result watch(int workers) { return simulate(workers, sim::free_platform(workers), {}, {.folder = &folder}); }

  metrics::RunFolder folder{file("run"), metrics::RunFolder::Existing::refuse};
};

}  // namespace

TEST_CASE("validations within an epoch change nothing of the training", "[train]") {
  const std::string strategy = GENERATE("data_parallel", "model_averaging", "bmuf", "bmuf_adam", "slowmo", "diloco");
  const std::string kind = GENERATE("nbm", "cbm");
  CAPTURE(strategy, kind);
  WatchedTask task;
  task.options.strategy = strategy;
  test::give(task.options, "bmuf-kind", kind);
  if (strategy == "bmuf_adam") task.options.optimiser.name = "adam";
  const auto once = task.simulate(3);
  task.options.validations = 3;
  const auto often = task.watch(3);
  CHECK(often.parameters_sha256 == once.parameters_sha256);
  CHECK(often.samples == once.samples);
  const auto records = test::records_of(task.folder);
  REQUIRE(records.size() == 6);  // after 2, 4 and all of 5 blocks, twice
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i]["epoch"] == 1 + i / 3);
    CHECK(records[i].contains("blocks") == (i % 3 < 2));
    if (i % 3 < 2) CHECK(records[i]["blocks"] == 2 + 2 * (i % 3));
    if (i > 0) CHECK(records[i]["samples"] > records[i - 1]["samples"]);
  }
  CHECK(records[5]["valid_error"] == once.valid.error);
  CHECK(records[5]["samples"] == once.samples);
}

TEST_CASE("the traffic of the records adds up to that of the training", "[train]") {
  WatchedTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf", "async_sgd");
  task.options.validations = task.options.strategy == "async_sgd" ? 1 : 2;
  const auto result = task.watch(3);
  std::map<std::string, double> sums;
  for (const auto& record : test::records_of(task.folder))
    for (const char* key : {"messages", "sent_bytes", "received_bytes"}) sums[key] += record[key].get<double>();
  CHECK(sums["messages"] > 0);
  CHECK(sums["messages"] == result.traffic.messages);
  CHECK(sums["sent_bytes"] == Approx(result.traffic.sent_bytes));
  CHECK(sums["received_bytes"] == Approx(result.traffic.received_bytes));
}

TEST_CASE("what a validation within an epoch sees is what a training that ends there ends with", "[train]") {
  WatchedTask task;
  task.options.strategy = "bmuf";
  task.options.epochs = 1;
  task.options.validations = 5;
  task.watch(3);
  const auto records = test::records_of(task.folder);
  task.options.validations = 1;
  for (std::size_t blocks = 1; blocks < 5; ++blocks) {
    task.options.max_blocks = blocks;
    const auto shorter = task.simulate(3);
    CHECK(records[blocks - 1]["valid_loss"] == shorter.valid.loss);
    CHECK(records[blocks - 1]["train_loss"] == shorter.train.loss);
    CHECK(records[blocks - 1]["samples"] == shorter.samples);
  }
}

TEST_CASE("a training may end with the model that was best on the validation set, not with its last", "[train]") {
  WatchedTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf", "async_sgd");
  const bool meets = task.options.strategy != "async_sgd";
  task.options.epochs = 3;
  task.options.validations = meets ? 3 : 1;
  task.options.schedule = {.name = "table",
                           .initial_rate = 0.2,
                           .settings = {{"schedule-rates", meets ? "0.2,0.1,20" : "0.2,0.1,200"}}};  // the end does harm
  const auto last = task.simulate(3);
  task.options.keep_best = true;
  const auto best = task.watch(3);
  double least = 1;
  for (const auto& record : test::records_of(task.folder)) least = std::min<double>(least, record["valid_error"]);
  CHECK(best.valid.error == least);
  CHECK(best.valid.error < last.valid.error);
  CHECK(best.parameters_sha256 != last.parameters_sha256);

  const auto written = train::read_checkpoint(task.folder.file("checkpoint.h5"));  // is that model
  const auto device = backend::make_device("cpu");
  comm::SoloCommunicator communicator(*device);
  comm::RealWorker worker(communicator);
  const auto score = train::evaluate(worker, task.options, written.parameters, train::open_evaluation_data(task.options),
                                     data::Subset::test);
  CHECK(score.error == best.test.error);
}

TEST_CASE("of models with equal errors the first is kept", "[train]") {
  WatchedTask task;
  task.options.strategy = GENERATE("sgd", "bmuf");
  const int workers = task.options.strategy == "sgd" ? 1 : 2;
  task.options.schedule.initial_rate = 1e-6;  // the loss changes, the error does not
  task.options.keep_best = true;
  task.options.epochs = 1;
  const auto first = task.simulate(workers);
  task.options.epochs = 3;
  const auto best = task.watch(workers);
  CHECK(best.parameters_sha256 == first.parameters_sha256);
  const auto written = train::read_checkpoint(task.folder.file("checkpoint.h5"));
  CHECK(train::parameters_sha256(written.parameters) == best.parameters_sha256);
  task.options.keep_best = false;
  const auto last = task.simulate(workers);
  CHECK(last.valid.error == first.valid.error);
  CHECK(last.parameters_sha256 != first.parameters_sha256);
}

TEST_CASE("validations that cannot be are refused in one sentence", "[train]") {
  test::SmallTask task;
  SECTION("workers that do not meet") {
    task.options.strategy = "async_sgd";
    task.options.validations = 2;
    CHECK_THROWS_WITH(task.simulate(3), contains_text("only at the end of an epoch"));
  }
  SECTION("nothing to go by") {
    data::GenerateOptions generate;
    generate.out = task.file("blind.h5");
    generate.samples = 100;
    generate.valid = 0;
    generate.test = 0;
    generate.dim = 8;
    generate.classes = 6;
    data::generate(generate);
    task.options.data = generate.out;
    task.options.keep_best = true;
    CHECK_THROWS_WITH(task.simulate(1), contains_text("no validation samples"));
  }
}
