// Training of recurrent models on sequences and on chunks of them.
#include "catch.hpp"
#include "core/errors.hpp"
#include "data/sequence_stream.hpp"
#include "support.hpp"
#include "train/plan.hpp"

using namespace paragrad;
using test::SmallTask;

namespace {

struct RecurrentTask : SmallTask {
  explicit RecurrentTask(const std::string& chunks) {
    options.model = "8-blstm10-6";
    options.chunks = chunks;
    options.minibatch = 4;
    options.blocks = 2;
    options.epochs = 3;
    options.schedule.initial_rate = 0.3;
  }
};

}  // namespace

TEST_CASE("recurrent models learn from sequences, and scores are per frame", "[train]") {
  const std::string chunks = GENERATE("whole", "3-8+3");
  RecurrentTask task(chunks);
  task.options.strategy = "sgd";
  task.options.epochs = 1;
  const train::Result first = task.simulate(1);
  task.options.epochs = 20;
  const train::Result trained = task.simulate(1);
  CHECK(first.samples == 613);
  CHECK(trained.samples == 20 * 613);
  CHECK(first.valid.loss < std::log(6.) * 1.2);
  CHECK(trained.valid.loss < 0.9 * first.valid.loss);
  CHECK(trained.valid.error < 0.6);
}

TEST_CASE("a chunk that is longer than every sequence trains as whole sequences do", "[train]") {
  RecurrentTask whole("whole"), long_chunks("5-64+7");
  CHECK(whole.simulate(1).parameters_sha256 == long_chunks.simulate(1).parameters_sha256);
}

TEST_CASE("workers share minibatches of sequences without a change of the result", "[train]") {
  RecurrentTask task("3-8+3");
  task.options.strategy = "data_parallel";
  task.options.splits = 3;
  const train::Result one = task.simulate(1), three = task.simulate(3);
  CHECK(one.samples == three.samples);
  CHECK(three.valid.loss == Approx(one.valid.loss).epsilon(1e-3));
}

TEST_CASE("with sequences workers that share minibatches end where one worker does, whatever their number", "[train]") {
  RecurrentTask task(GENERATE("whole", "3-8+3"));
  task.options.minibatch = GENERATE(0u, 7u, 64u);
  task.options.shuffle = GENERATE(false, true);
  task.options.blocks = GENERATE(1u, 3u);
  task.options.epochs = 2;
  CAPTURE(task.options.chunks, task.options.minibatch, task.options.shuffle, task.options.blocks);
  task.options.strategy = "sgd";
  const train::Result one = task.simulate(1);
  for (const std::string strategy : {"data_parallel", "post_local_sgd"})
    for (const int workers : {2, 3, 7}) {
      task.options.strategy = strategy;
      task.options.strategy_settings.clear();
      test::give(task.options, "local-start-epoch", 1000);
      const train::Result several = task.simulate(workers);
      CHECK(several.samples == one.samples);
      CHECK(several.train.loss == Approx(one.train.loss).epsilon(1e-5));
      CHECK(several.valid.loss == Approx(one.valid.loss).epsilon(1e-5));
    }
}

TEST_CASE("workers are dealt whole chunks of sequences, which together are those of one worker", "[train]") {
  RecurrentTask task("3-8+3/2");
  task.options.strategy = "data_parallel";
  task.options.epochs = 1;
  task.options.minibatch = 5;
  const train::TrainingData source = train::open_training_data(task.options, 3);
  const auto& sequences = *source.sequences_of(data::Subset::train);
  std::vector<int> seen(source.info.samples[0]);
  data::Prefetcher prefetcher;
  for (std::size_t block = 0; block < source.partition->blocks(); ++block)
    for (int rank = 0; rank < 3; ++rank) {
      const auto plan = train::plan_block(*source.partition, block, strategies::Share::minibatch, 5, rank, 3);
      data::SequenceStream stream(source.dataset, data::Subset::train, prefetcher, source.sequences_of(data::Subset::train));
      stream.prefetch({plan.samples, plan.rows});
      stream.advance();
      std::size_t next = 0;
      for (const std::size_t mine : plan.mine) {
        if (mine == 0) continue;
        const data::Batch batch = stream.next(mine);
        CHECK(batch.units() == mine);
        std::size_t frames = 0;
        for (std::size_t i = 0; i < mine; ++i) frames += sequences.at(plan.rows[next++]).frames();
        CHECK(batch.size() == frames);
        for (std::size_t i = 0; i < batch.size(); ++i) seen[batch.rows[i]] += batch.labels[i] != data::no_label;
      }
    }
  CHECK(seen == std::vector<int>(seen.size(), 1));
}

TEST_CASE("recurrent models are trained under block strategies, the same every time", "[train]") {
  const std::string strategy = GENERATE("bmuf", "model_averaging", "async_sgd");
  RecurrentTask task("3-8+3");
  task.options.strategy = strategy;
  task.options.minibatch = 2;
  const train::Result once = task.simulate(3), again = task.simulate(3);
  CHECK(once.parameters_sha256 == again.parameters_sha256);
  CHECK(once.samples == 3 * 613);
}

TEST_CASE("recurrent models train on stored splits of whole utterances, which are what they would draw", "[train]") {
  RecurrentTask task(GENERATE("whole", "3-8+3"));
  task.options.strategy = "bmuf";
  const auto drawn = task.simulate(3).parameters_sha256;
  const auto dataset = data::Dataset::open(task.options.data);
  data::Partition::of_utterances(dataset->offsets(data::Subset::train), 3, 2, task.options.seed).store(task.options.data);
  CHECK(task.simulate(3).parameters_sha256 == drawn);
}

TEST_CASE("a timing run of chunks counts as many as there are, and whole sequences need their file", "[train]") {
  RecurrentTask task("3-8+3");
  task.options.strategy = "bmuf";
  const auto samples = task.simulate(2, sim::free_platform(2), {.device = "meta"}).samples;
  CHECK(samples == 3 * ((613 + 7) / 8) * 8);
  task.options.chunks = "whole";
  CHECK_THROWS_AS(task.simulate(2, sim::free_platform(2), {.device = "meta"}), core::ConfigError);
}

TEST_CASE("two workers that hold a direction each train like one that holds both", "[train]") {
  RecurrentTask task(GENERATE("whole", "3-8+3"));
  task.options.model = GENERATE("8-blstm10-6", "8-2xblstm6p4+peepholes-6");
  task.options.strategy = "bmuf";
  task.options.splits = 2;
  const train::Result whole = task.simulate(2);
  task.options.tensor_parallel = 2;
  const train::Result halves = task.simulate(4);
  CHECK(halves.samples == whole.samples);
  CHECK(halves.valid.loss == Approx(whole.valid.loss).epsilon(1e-5));
  CHECK(halves.model.size() == whole.model.size());
}

TEST_CASE("what recurrent models cannot do is refused in one sentence", "[train]") {
  RecurrentTask task("whole");
  SECTION("more workers for one replica than directions") {
    task.options.tensor_parallel = 3;
    CHECK_THROWS_WITH(task.simulate(3), contains_text("2 directions and cannot be split into 3 parts"));
  }
  SECTION("pretraining") {
    task.options.pretraining.epochs = 1;
    CHECK_THROWS_AS(task.simulate(1), core::ConfigError);
  }
  SECTION("no way to cut") {
    task.options.chunks = "half";
    CHECK_THROWS_AS(task.simulate(1), core::ConfigError);
  }
}
