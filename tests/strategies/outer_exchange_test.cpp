// Outer steps on compressed displacements: against exact ones, and against their formulas in double.
#include <algorithm>
#include <cmath>
#include <map>

#include "catch.hpp"
#include "comm/compression/gradient_sum.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;

namespace {

float moved(std::size_t i, int rank, int block) {
  return std::sin(static_cast<float>(i) + static_cast<float>(5 * rank + 3 * block));
}

/// The last worker has no samples in every third block.
std::size_t samples_in(int rank, int workers, int block) {
  return workers > 1 && rank + 1 == workers && block % 3 == 2 ? 0 : static_cast<std::size_t>(1 + rank);
}

std::vector<std::vector<float>> outer_steps(int workers, const std::string& strategy, const core::Settings& settings,
                                            int blocks = 7) {
  return after(workers, strategy, used_by(strategy, settings), [&](comm::Worker& worker, StrategyHarness& harness) {
    for (int block = 0; block < blocks; ++block) {
      harness.replica->learning_rate = 0.3;
      const std::size_t samples = samples_in(worker.rank(), worker.size(), block);
      for (std::size_t i = 0; samples > 0 && i < length; ++i) harness.parameters[i] += moved(i, worker.rank(), block);
      harness.strategy->synchronise(worker, *harness.replica, samples);
    }
    core::StateView state;
    harness.strategy->describe_state(state);
  });
}

std::vector<std::string> compressions() {
  std::vector<std::string> names;
  for (const core::EntryInfo& entry : comm::compression_catalogue().entries)
    if (entry.name != "none") names.push_back(entry.name + entry.example);
  return names;
}

/// diloco whose workers send the `keep` largest elements of e = β e + w Δ, all of them to all.
class SparseReference {
 public:
  std::vector<double> x;

  SparseReference(int workers, std::size_t keep, double decay, double rate, double momentum)
      : x(length),
        errors_(static_cast<std::size_t>(workers), std::vector<double>(length)),
        velocity_(length),
        keep_(keep),
        decay_(decay),
        rate_(rate),
        momentum_(momentum) {
    for (std::size_t i = 0; i < length; ++i) x[i] = static_cast<double>(i);
  }

  void take_block(int block) {
    const int workers = static_cast<int>(errors_.size());
    double all = 0;
    for (int rank = 0; rank < workers; ++rank) all += static_cast<double>(samples_in(rank, workers, block));
    std::vector<double> mean(length);
    for (int rank = 0; rank < workers; ++rank) {
      const auto samples = static_cast<double>(samples_in(rank, workers, block));
      std::vector<double>& error = errors_[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < length; ++i)
        error[i] = decay_ * error[i] - samples / all * (samples > 0 ? double{moved(i, rank, block)} : 0);
      for (const std::size_t i : largest(error)) {
        mean[i] += error[i];
        error[i] = 0;
      }
    }
    for (std::size_t i = 0; i < length; ++i) {
      velocity_[i] = momentum_ * velocity_[i] + mean[i];
      x[i] -= rate_ * (mean[i] + momentum_ * velocity_[i]);
    }
  }

 private:
  std::vector<std::size_t> largest(const std::vector<double>& values) const {
    std::vector<std::size_t> indices(values.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    std::ranges::stable_sort(indices, std::greater<>{}, [&](std::size_t i) { return std::abs(values[i]); });
    indices.resize(keep_);
    return indices;
  }

  std::vector<std::vector<double>> errors_;
  std::vector<double> velocity_;
  std::size_t keep_;
  double decay_, rate_, momentum_;
};

}  // namespace

TEST_CASE("all displacements, or codes of many bits, end where averaged models do", "[strategies]") {
  const std::string strategy = GENERATE("diloco", "slowmo", "fed_adam");
  const std::string compression = GENERATE("top_k:1", "chunk_top_k:8,8", "bits:16");
  const int workers = GENERATE(1, 2, 4);
  const bool gathered = GENERATE(false, true);
  CAPTURE(strategy, compression, workers, gathered);
  const auto exact = outer_steps(workers, strategy, {});
  const auto compressed = outer_steps(workers, strategy, {{"outer-compression", compression}, {"gather-codes", gathered}});
  for (std::size_t i = 0; i < length; ++i) CHECK(compressed[0][i] == Approx(exact[0][i]).margin(2e-3).epsilon(1e-6));
  if (compression != "bits:16")
    for (std::size_t i = 0; i < length; ++i) CHECK(compressed[0][i] == Approx(exact[0][i]).margin(1e-5).epsilon(2e-6));
}

TEST_CASE("whatever is compressed, all workers take the same outer step", "[strategies]") {
  const std::string strategy = GENERATE("diloco", "slowmo", "fed_adam");
  const std::string compression = GENERATE(from_range(compressions()));
  const bool gathered = GENERATE(false, true);
  CAPTURE(strategy, compression, gathered);
  const auto models = outer_steps(3, strategy, {{"outer-compression", compression}, {"gather-codes", gathered}});
  for (const auto& model : models) CHECK(model == models[0]);
  CHECK(models[0] != outer_steps(3, strategy, {})[0]);
}

TEST_CASE("a single worker sends nothing, so nothing is compressed", "[strategies]") {
  const std::string strategy = GENERATE("diloco", "slowmo", "fed_adam");
  const std::string compression = GENERATE(from_range(compressions()));
  CHECK(outer_steps(1, strategy, {{"outer-compression", compression}}) == outer_steps(1, strategy, {}));
}

TEST_CASE("what is kept of a displacement fades and is sent later", "[strategies]") {
  const int workers = GENERATE(2, 3);
  const double decay = GENERATE(1., 0.9, 0.25), momentum = GENERATE(0., 0.6);
  const core::Settings settings{{"outer-compression", "top_k:0.2"},
                                {"gather-codes", true},
                                {"error-decay", decay},
                                {"outer-learning-rate", 0.8},
                                {"outer-momentum", momentum}};
  SparseReference reference(workers, 8, decay, 0.8, momentum);  // 8: a fifth of 37, rounded up
  for (int block = 0; block < 7; ++block) reference.take_block(block);
  const auto models = outer_steps(workers, "diloco", settings);
  for (std::size_t i = 0; i < length; ++i) REQUIRE(models[0][i] == Approx(reference.x[i]).margin(1e-4));
}

TEST_CASE("two workers whose displacements a bit can tell apart agree on their mean", "[strategies]") {
  // Displacements x - x_i of -1 and 3 everywhere, weighed 1/2: a bit per element has the levels that there are.
  core::Settings settings{{"outer-compression", "bits:1"}, {"outer-learning-rate", 0.5}, {"outer-momentum", 0.5}};
  settings["gather-codes"] = GENERATE(false, true);
  const auto models = after(2, "diloco", settings, [&](comm::Worker& worker, StrategyHarness& harness) {
    for (int block = 0; block < 2; ++block) {
      move_by(harness, worker.rank() == 0 ? 1.f : -3.f);
      harness.strategy->synchronise(worker, *harness.replica, 4);
    }
  });
  // g = 1: v = 1, x = x - 0.5 (1 + 0.5); then v = 1.5, x = x - 0.5 (1 + 0.75).
  for (const auto& model : models)
    for (std::size_t i = 0; i < length; ++i) CHECK(model[i] == Approx(static_cast<float>(i) - 0.75f - 0.875f).margin(1e-5));
}

TEST_CASE("displacements beyond the range of half precision are counted and reported", "[strategies]") {
  const int workers = 2;
  const double size = GENERATE(60., 300.);  // the mean of both may be 64
  std::vector<strategies::Remarks> remarks(workers);
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "diloco", {{"outer-compression", "fp16"}, {"error-feedback", false}});
    move_by(harness, static_cast<float>(size));
    harness.strategy->synchronise(worker, *harness.replica, 4);
    remarks[static_cast<std::size_t>(worker.rank())] = harness.strategy->report(worker);
  });
  for (const strategies::Remarks& remark : remarks) {
    CHECK(remark.numbers.empty() == (size == 60));
    if (size == 60) continue;
    REQUIRE(remark.lines.size() == 1);
    CHECK(remark.lines[0].find("111 elements of displacements exceeded the range") == 0);  // of both, and of the sum
    CHECK(remark.lines[0].find("`outer-compression` bf16") != std::string::npos);
  }
}

TEST_CASE("a fragment's displacements beyond the range are counted, too", "[strategies]") {
  std::vector<strategies::Remarks> remarks(2);
  sim::run(2, [&](comm::Worker& worker) {
    StrategyHarness harness(
        worker, "streaming_diloco",
        {{"outer-compression", "fp16"}, {"error-feedback", false}, {"fragments", 1u}, {"outer-delay", 0u}});
    move_by(harness, 300);
    dynamic_cast<strategies::MeetingStrategy&>(*harness.strategy)
        .meet(worker, *harness.replica, {.round = 1, .rounds = 1, .passed = 1, .samples = 4});
    remarks[static_cast<std::size_t>(worker.rank())] = harness.strategy->report(worker);
  });
  for (const strategies::Remarks& remark : remarks) {
    REQUIRE(remark.lines.size() == 1);
    CHECK(remark.lines[0].find("111 elements of displacements exceeded the range") == 0);
  }
}

TEST_CASE("outer exchanges send what their formulas say", "[strategies]") {
  const int workers = 4;
  const auto sent = [&](const core::Settings& settings) {
    std::vector<std::uint64_t> bytes(workers);
    sim::run(workers, [&](comm::Worker& worker) {
      StrategyHarness harness(worker, "diloco", settings);
      move_by(harness, 1.f + static_cast<float>(worker.rank()));
      const std::uint64_t before = worker.comm().traffic().sent_bytes;
      harness.strategy->synchronise(worker, *harness.replica, 4);
      bytes[static_cast<std::size_t>(worker.rank())] = worker.comm().traffic().sent_bytes - before;
    });
    return bytes[1];
  };
  const std::uint64_t counting = sent({{"outer-compression", "none"}}) - 2 * 3 * 37 * 4 / 4;  // of samples, and uneven parts
  CHECK(counting < 40);
  const auto gathering = [&](const std::string& compression) {
    return sent({{"outer-compression", compression}, {"gather-codes", true}});
  };
  const std::uint64_t samples = gathering("top_k:1") - 3 * 8 * 37;
  CHECK(samples < 40);
  CHECK(gathering("e3m0") == samples + 3 * (4 + 20));            // a block cut short: 37 nibbles in five words
  CHECK(gathering("statistical:2") == samples + 3 * (16 + 12));  // four means and 74 bits
  CHECK(gathering("statistical:4") == samples + 3 * (64 + 20));
  CHECK(gathering("top_k:0.2") == samples + 3 * 8 * 8);
}

TEST_CASE("the statistics of updates are those of their definitions", "[strategies]") {
  const int workers = GENERATE(1, 2, 4), blocks = 5;
  core::Settings settings{{"update-statistics", true}, {"outer-learning-rate", 0.4}, {"outer-momentum", 0.3}};
  const std::string exchange =
      GENERATE("ring", "butterfly", "hierarchical:ring+butterfly", "hierarchical:butterfly+ring", "top_k:1", "bits:1");
  const bool compresses = exchange == "top_k:1" || exchange == "bits:1";
  settings[compresses ? "outer-compression" : "collective"] = exchange;
  std::vector<strategies::Remarks> remarks(static_cast<std::size_t>(workers));
  std::vector<std::vector<double>> updates;  // of each block
  double spreads = 0;
  std::vector<double> x(length), velocity(length);
  std::iota(x.begin(), x.end(), 0.);
  for (int block = 0; block < blocks; ++block) {
    double all = 0, apart = 0, norm = 0;
    std::vector<double> update(length);
    for (int rank = 0; rank < workers; ++rank) all += static_cast<double>(samples_in(rank, workers, block));
    for (std::size_t i = 0; i < length; ++i) {
      const auto share = [&](int rank) { return static_cast<double>(samples_in(rank, workers, block)) / all; };
      for (int rank = 0; rank < workers; ++rank) update[i] += share(rank) * double{moved(i, rank, block)};
      for (int rank = 0; rank < workers; ++rank)
        apart += share(rank) * std::pow(double{moved(i, rank, block)} - update[i], 2);
      norm += std::pow(x[i] + update[i], 2);
      velocity[i] = 0.3 * velocity[i] - update[i];
      x[i] -= 0.4 * (-update[i] + 0.3 * velocity[i]);
    }
    spreads += std::sqrt(apart / norm);
    updates.push_back(update);
  }
  double correlations = 0;
  for (std::size_t block = 1; block < updates.size(); ++block) {
    const auto product = [&](const std::vector<double>& a, const std::vector<double>& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
    };
    const auto &now = updates[block], &before = updates[block - 1];
    correlations += product(now, before) / std::sqrt(product(now, now) * product(before, before));
  }
  const auto plain = outer_steps(
      workers, "diloco",
      [&] {
        core::Settings without = settings;
        without.erase("update-statistics");
        return without;
      }(),
      blocks);
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "diloco", settings);
    CHECK(harness.strategy->report(worker).numbers.empty());
    for (int block = 0; block < blocks; ++block) {
      const std::size_t samples = samples_in(worker.rank(), worker.size(), block);
      for (std::size_t i = 0; samples > 0 && i < length; ++i) harness.parameters[i] += moved(i, worker.rank(), block);
      harness.strategy->synchronise(worker, *harness.replica, samples);
    }
    remarks[static_cast<std::size_t>(worker.rank())] = harness.strategy->report(worker);
    CHECK(harness.parameters == plain[0]);
  });
  for (const strategies::Remarks& remark : remarks) {
    const std::map<std::string, double> numbers(remark.numbers.begin(), remark.numbers.end());
    const bool exact = !compresses || workers == 1;
    REQUIRE(numbers.size() == (exact ? 2u : 1u));
    if (exact) CHECK(numbers.at("model_spread") == Approx(spreads / blocks).epsilon(1e-3).margin(1e-4));
    if (exchange == "bits:1" && workers > 1) continue;  // the updates are others
    CHECK(numbers.at("update_correlation") == Approx(correlations / (blocks - 1)).epsilon(1e-4).margin(1e-5));
  }
}
