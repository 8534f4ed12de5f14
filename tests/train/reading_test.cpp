// Reading splits from the platform's file system, in simulated time.
#include "catch.hpp"
#include "core/errors.hpp"
#include "sim/network/storage.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

constexpr double client = 1e9, aggregate = 2e9;  // B/s
constexpr std::size_t blocks = 4, minibatch = 100, minibatches = 10, sample_bytes = 400'000;
constexpr double split_bytes = 1.0 * minibatch * minibatches * sample_bytes;  // 0.4 GB

/// Devices of 1e12 flop/s with nothing else to wait for; one worker per node.
sim::Platform storage_cluster(int workers) {
  sim::Platform platform = sim::free_platform(workers);
  platform.device = {1e12, 1e15, 1, 1, 0};
  platform.storage = sim::Platform::Storage{client, aggregate, aggregate, 0, 16};
  return platform;
}

/// One epoch over splits of equal size.
train::Result run(int workers, const std::string& io, const std::string& model, std::size_t valid = 0) {
  test::SmallTask task(100);
  task.options.data.clear();
  task.options.model = model;
  task.imaginary_samples = {blocks * minibatches * minibatch * static_cast<std::size_t>(workers), valid, 0};
  task.options.strategy = "model_averaging";
  task.options.minibatch = minibatch;
  task.options.blocks = blocks;
  task.options.epochs = 1;
  return task.simulate(workers, storage_cluster(workers), {.device = "meta", .io = io, .row_bytes = sample_bytes});
}

const std::string light = "100-1000-10", heavy = "1000-300000-10";  // a split is read for longer, or computed for longer

}  // namespace

TEST_CASE("blocking reads add their time, prefetched ones hide behind the block before", "[train]") {
  const std::string model = GENERATE(light, heavy);
  const double read_s = split_bytes / client;
  const double all_s = run(1, "none", model).training_s;
  const double compute_s = all_s / blocks;
  REQUIRE((compute_s > 2 * read_s) == (model == heavy));
  const train::Result blocking = run(1, "blocking", model), prefetch = run(1, "prefetch", model);
  CHECK(blocking.training_s == Approx(all_s + blocks * read_s).epsilon(1e-4));
  CHECK(blocking.times.data_s == Approx(blocks * read_s).epsilon(1e-4));
  const double steady_s = std::max(compute_s, read_s);
  CHECK(prefetch.training_s == Approx(read_s + (blocks - 1) * steady_s + compute_s).epsilon(1e-4));
  CHECK(prefetch.times.data_s == Approx(read_s + (blocks - 1) * (steady_s - compute_s)).epsilon(1e-4));
  CHECK(run(1, "none", model).times.data_s == 0);
}

TEST_CASE("workers saturate the file system together", "[train]") {
  const int workers = GENERATE(1, 2, 4, 8);
  const double read_s = std::max(split_bytes / client, workers * split_bytes / aggregate);
  const double all_s = run(workers, "none", light).training_s;
  CHECK(run(workers, "blocking", light).training_s - all_s == Approx(blocks * read_s).epsilon(0.03));
}

TEST_CASE("a validation set is read too", "[train]") {
  const double without = run(1, "blocking", light, 1000).times.validate_s - run(1, "none", light, 1000).times.validate_s;
  CHECK(without == Approx(1000.0 * sample_bytes / client).epsilon(1e-4));
}

TEST_CASE("frames of context are read with each chunk", "[train]") {
  const auto read_s = [](const std::string& chunks) {
    test::SmallTask task;
    task.options.data.clear();
    task.imaginary_samples = {600, 0, 0};
    task.options.model = "8-lstm5-6";
    task.options.chunks = chunks;
    task.options.epochs = 1;
    return task.simulate(1, storage_cluster(1), {.device = "meta", .io = "blocking", .row_bytes = sample_bytes})
        .times.data_s;
  };
  CHECK(read_s("10") == Approx(600.0 * sample_bytes / client).epsilon(1e-4));
  CHECK(read_s("2-10+3") == Approx(1.5 * read_s("10")).epsilon(1e-4));
}

TEST_CASE("a frame is read once, with however many others it is seen", "[train]") {
  const auto read_s = [](const std::string& context, const std::string& model) {
    test::SmallTask task;
    task.options.context = context;
    task.options.model = model;
    sim::Platform slow = storage_cluster(1);
    slow.storage->client_bytes_per_s = 1e6;
    return task.simulate(1, slow, {.io = "blocking"}).times.data_s;
  };
  CHECK(read_s("1+1", "24-12-6") == Approx(read_s("0+0", "8-12-6")));
}

TEST_CASE("reading takes the same simulated time whether anything is computed or not, and changes no result", "[train]") {
  const std::string io = GENERATE("blocking", "prefetch");
  test::SmallTask task;
  task.options.strategy = GENERATE("data_parallel", "bmuf");
  const train::Result plain = task.simulate(3, storage_cluster(3));
  const train::Result computed = task.simulate(3, storage_cluster(3), {.io = io, .row_bytes = 1'000'000});
  CHECK(computed.parameters_sha256 == plain.parameters_sha256);
  CHECK(computed.training_s > plain.training_s);
  CHECK(task.simulate(3, storage_cluster(3), {.device = "meta", .io = io, .row_bytes = 1'000'000}).training_s ==
        computed.training_s);
}

TEST_CASE("an unknown way of reading is refused", "[train]") {
  CHECK_THROWS_WITH(sim::parse_io("mmap"), contains_text("'mmap'") && contains_text("prefetch"));
}
