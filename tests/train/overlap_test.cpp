// Exchange of gradients in buckets, beside the backward pass or after it.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "core/philox.hpp"
#include "sanitized.hpp"
#include "support.hpp"

using namespace paragrad;

namespace {

struct BucketTask : test::SmallTask {
  BucketTask(std::size_t bucket_bytes, bool overlap, std::size_t samples = 613) : SmallTask(samples) {
    options.strategy = "data_parallel";
    options.model = "8-12-9-6:sigmoid";
    options.strategy_settings["bucket-bytes"] = bucket_bytes;
    options.strategy_settings["overlap"] = overlap;
  }
};

/// Arithmetic takes time, memory does not; one link for everything.
sim::Platform hand_sized(double flops_per_s, double bandwidth) {
  sim::Platform platform = sim::free_platform(2);
  platform.device = {flops_per_s, 1e30, 1, 1, 0};
  platform.peer = {1e-6, bandwidth};
  platform.leaf = {{1e-6, bandwidth}, 1};
  return platform;
}

}  // namespace

TEST_CASE("buckets reduced beside the backward pass and after it end in the same weights", "[train]") {
  const int workers = GENERATE(2, 3, 4, 6);
  const std::size_t bucket_bytes = GENERATE(1u, 77u, 500u, 1u << 20);  // the model has 1,140 bytes
  const std::string collective = GENERATE("ring", "tree", "butterfly", "halving_doubling", "parameter_server");
  if (sanitized && bucket_bytes == 1) return;  // 285 sums per step
  const auto weights = [&](bool overlap) {
    BucketTask task(bucket_bytes, overlap, 60);
    task.options.minibatch = 5;  // of 6 workers one gets nothing
    task.options.epochs = 1;
    task.options.strategy_settings["collective"] = collective;
    return task.simulate(workers).parameters_sha256;
  };
  const std::string beside = weights(true);
  CHECK(beside == weights(false));
}

TEST_CASE("a bucket larger than the model is the whole gradient", "[train]") {
  const bool overlap = GENERATE(true, false);
  CHECK(BucketTask(1 << 20, overlap).simulate(3).parameters_sha256 == BucketTask(0, true).simulate(3).parameters_sha256);
}

TEST_CASE("pieces of a large minibatch are staged like one", "[train]") {
  const auto result = [](std::size_t bucket_bytes, bool overlap) {
    BucketTask task(bucket_bytes, overlap, 5000);
    task.options.minibatch = 0;
    task.options.blocks = 1;
    return task.simulate(2);
  };
  const train::Result whole = result(0, false);
  CHECK(result(100, true).parameters_sha256 == result(100, false).parameters_sha256);
  CHECK(result(100, true).valid.loss == Approx(whole.valid.loss).epsilon(1e-5));
}

TEST_CASE("overlap hides the shorter of a bucket's reduction and the computing below it", "[train]") {
  // Two layers, a bucket each, two workers of 8 samples. The upper layer's bucket is reduced while the lower layer computes
  // its gradient, 8 * 12 * (2 * 8 + 1) flops; a ring of two takes 2 (latency + half of the bucket / bandwidth) and the
  // addition of that half.
  const double flops_per_s = GENERATE(1e6, 1e8, 1e9, 1e12);
  const double bandwidth = GENERATE(1e5, 1e8, 1e12);
  const sim::Platform platform = hand_sized(flops_per_s, bandwidth);
  const auto result = [&](bool overlap) {
    BucketTask task(200, overlap, 640);
    task.options.model = "8-12-6:sigmoid";
    task.options.epochs = 1;
    return task.simulate(2, platform);
  };
  constexpr double minibatches = 40;
  const double computing_s = 8. * 12 * (2 * 8 + 1) / flops_per_s;
  constexpr double half = (12 + 1) * 6 / 2.;
  const double reduction_s = 2 * (1e-6 + 4 * half / bandwidth) + half / flops_per_s;
  const train::Result beside = result(true), after = result(false);
  CHECK(beside.parameters_sha256 == after.parameters_sha256);
  const double hidden_s = minibatches * std::min(computing_s, reduction_s);
  CHECK(after.training_s - beside.training_s == Approx(hidden_s).margin(minibatches * 3e-12));
  CHECK(after.times.aggregate_s - beside.times.aggregate_s == Approx(hidden_s).margin(minibatches * 3e-12));
}

TEST_CASE("double buffering hides the shorter of an exchange and the minibatch that it accompanies", "[train]") {
  const double flops_per_s = GENERATE(1e6, 1e8, 1e9, 1e12);
  const double bandwidth = GENERATE(1e5, 1e8, 1e12);
  const auto result = [&](bool buffered) {
    BucketTask task(0, true, 640);
    task.options.model = "8-12-6:sigmoid";
    task.options.epochs = 1;
    task.options.strategy_settings["buffered"] = buffered;
    return task.simulate(2, hand_sized(flops_per_s, bandwidth));
  };
  constexpr double minibatches = 40, parameters = (8 + 1) * 12 + (12 + 1) * 6;
  const train::Result late = result(true), at_once = result(false);
  const double update_s = 4 * parameters / flops_per_s;  // of momentum
  const double computing_s = at_once.times.optimise_s / minibatches;
  const double exchange_s = at_once.times.aggregate_s / minibatches - update_s;
  // The first travels beside the second minibatch alone, the last of the epoch beside the update before it.
  const double hidden_s = std::min(exchange_s, computing_s) +
                          (minibatches - 2) * std::min(exchange_s, computing_s + update_s) + std::min(exchange_s, update_s);
  CHECK(at_once.training_s - late.training_s == Approx(hidden_s).epsilon(1e-6).margin(minibatches * 3e-12));
}

TEST_CASE("overlap is never slower, whatever platform, collective and buckets", "[train]") {
  const int seed = GENERATE(range(0, 24));
  const core::RandomStream random(7, core::Purpose::generator, static_cast<std::uint32_t>(seed));
  const auto pick = [&](std::uint64_t what, double low, double high) {
    return low * std::pow(high / low, random.uniform(what));
  };
  const int workers = 2 + static_cast<int>(random.below(6, 100));
  sim::Platform platform = sim::free_platform(workers);
  platform.nodes = (workers + 1) / 2;
  platform.devices_per_node = 2;
  platform.device = {pick(0, 1e8, 1e12), pick(1, 1e8, 1e12), 1, 1, pick(2, 1e-9, 1e-5)};
  platform.peer = {pick(3, 1e-7, 1e-4), pick(4, 1e7, 1e10)};
  platform.leaf = {{pick(5, 1e-7, 1e-4), pick(6, 1e6, 1e10)}, 1};
  platform.message.eager_bytes = random.below(2, 101) == 0 ? 0 : 65536;
  const std::vector<std::string> collectives{"ring", "tree", "butterfly", "halving_doubling", "parameter_server"};
  const auto time = [&](bool overlap) {
    BucketTask task(random.below(900, 102), overlap, 150);
    task.options.strategy_settings["collective"] = collectives[random.below(5, 103)];
    return task.simulate(workers, platform).training_s;
  };
  CAPTURE(seed, workers);
  CHECK(time(true) <= time(false));
}

TEST_CASE("simulated times with overlap repeat and do not depend on host threads", "[train]") {
  BucketTask task(100, true);
  const sim::Platform platform = hand_sized(1e9, 1e8);
  const auto run = [&](int threads) { return task.simulate(2, platform, {threads, "cpu", "fifo"}); };
  const train::Result first = run(1);
  for (const int threads : {1, 2, 3}) {
    CHECK(run(threads).parameters_sha256 == first.parameters_sha256);
    CHECK(run(threads).training_s == first.training_s);
  }
}

TEST_CASE("a loss that is no number ends a training whose gradients are under way", "[train]") {
  BucketTask task(1, true);
  task.options.model = "8-12-9-6:relu";
  task.options.schedule.initial_rate = 1e30;
  CHECK_THROWS_WITH(task.simulate(3), contains_text("on worker") && contains_text("epoch 1"));
}
