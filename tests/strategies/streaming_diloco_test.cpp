// streaming_diloco against its formulas in double, worker by worker and round by round; and how a model is cut into
// fragments.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "catch.hpp"
#include "strategies/fragments.hpp"
#include "tests/strategies/support.hpp"

using namespace paragrad;
using namespace paragrad::strategies::testing;
using strategies::Fragment;
using strategies::MeetingStrategy;

namespace {

/// Seven matrices of 37 parameters.
std::vector<core::Matrix> small_layout() {
  std::vector<core::Matrix> layout;
  std::size_t begin = 0;
  for (const core::MatrixShape shape : {core::MatrixShape{4, 3}, {4, 1}, {3, 4}, {3, 1}, {1, 3}, {1, 1}, {2, 1}}) {
    layout.push_back({begin, shape});
    begin += shape.size();
  }
  REQUIRE(begin == length);
  return layout;
}

std::vector<std::size_t> elements_of(const Fragment& fragment) {
  std::vector<std::size_t> elements;
  for (const core::Range range : fragment.unpacked({0, fragment.size()}))
    for (std::size_t i = range.begin; i < range.end; ++i) elements.push_back(i);
  return elements;
}

struct Options {
  std::size_t fragments, delay;
  double share;

  core::Settings settings() const {
    return {{"fragments", fragments}, {"fragment-cut", "packed"},    {"outer-delay", delay},
            {"local-share", share},   {"outer-learning-rate", rate}, {"outer-momentum", momentum}};
  }
  static constexpr double rate = 0.6, momentum = 0.8;
};

const std::vector<std::size_t> rounds_of_blocks{6, 6, 5, 2, 1, 7};

/// What a minibatch moves, and how many samples it has: the last worker has none in the last round of a block.
double displacement(std::size_t i, int rank, std::size_t block, std::size_t round) {
  return std::sin(static_cast<double>(i) + 3. * rank + 5. * static_cast<double>(block) + 7. * static_cast<double>(round));
}
std::size_t samples_of(int rank, int workers, std::size_t round, std::size_t rounds) {
  return round + 1 == rounds && rank > 0 && rank + 1 == workers ? 0 : static_cast<std::size_t>(2 + rank);
}

/// As the loop of a training does.
void train_blocks(comm::Worker& worker, MeetingStrategy& strategy, strategies::Replica& replica) {
  for (std::size_t block = 0; block < rounds_of_blocks.size(); ++block) {
    const std::size_t rounds = rounds_of_blocks[block];
    for (std::size_t round = 0; round < rounds;) {
      const std::size_t next = strategy.next_meeting(round, rounds);
      REQUIRE(next > round);
      REQUIRE(next <= rounds);
      std::size_t samples = 0;
      for (std::size_t r = round; r < next; ++r) {
        const std::size_t mine = samples_of(worker.rank(), worker.size(), r, rounds);
        samples += mine;
        for (std::size_t i = 0; mine > 0 && i < length; ++i)
          replica.parameters[i] += static_cast<float>(displacement(i, worker.rank(), block, r));
      }
      strategy.meet(worker, replica, {.round = next, .rounds = rounds, .passed = next - round, .samples = samples});
      round = next;
    }
  }
}

/// The formulas: own models of all workers, and the common one.
class Reference {
 public:
  std::vector<std::vector<double>> own;
  std::vector<double> common;

  Reference(int workers, const Options& options)
      : own(static_cast<std::size_t>(workers)),
        common(length),
        options_(options),
        fragments_(strategies::packed_fragments(small_layout(), options.fragments)),
        velocity_(length),
        samples_(fragments_.size(), std::vector<double>(static_cast<std::size_t>(workers))) {
    std::iota(common.begin(), common.end(), 0);
    for (auto& model : own) model = common;
  }

  void train() {
    for (std::size_t block = 0; block < rounds_of_blocks.size(); ++block)
      for (std::size_t round = 0; round < rounds_of_blocks[block]; ++round) {
        descend(block, round);
        if (left_ > 0 && --left_ == 0) apply();
        for (std::size_t p = 0; p < fragments_.size(); ++p) {
          const std::size_t sent = std::max<std::size_t>((p + 1) * rounds_of_blocks[block] / fragments_.size(), 1);
          if (sent == round + 1) send(p);
        }
      }
  }

 private:
  void descend(std::size_t block, std::size_t round) {
    for (std::size_t k = 0; k < own.size(); ++k) {
      const int rank = static_cast<int>(k), workers = static_cast<int>(own.size());
      const std::size_t mine = samples_of(rank, workers, round, rounds_of_blocks[block]);
      for (auto& since : samples_) since[k] += static_cast<double>(mine);
      for (std::size_t i = 0; mine > 0 && i < length; ++i) own[k][i] += displacement(i, rank, block, round);
    }
  }

  void send(std::size_t p) {
    if (under_way_) apply();
    under_way_ = &fragments_[p];
    left_ = options_.delay;
    std::vector<double>& since = samples_[p];
    const double all = std::accumulate(since.begin(), since.end(), 0.);
    for (const std::size_t i : elements_of(*under_way_)) {
      double mean = 0;
      for (std::size_t k = 0; k < own.size(); ++k) mean += since[k] / all * own[k][i];
      const double gradient = common[i] - mean;
      velocity_[i] = Options::momentum * velocity_[i] + gradient;
      common[i] -= Options::rate * (gradient + Options::momentum * velocity_[i]);
    }
    std::ranges::fill(since, 0);
    if (left_ == 0) apply();
  }

  void apply() {
    for (const std::size_t i : elements_of(*under_way_))
      for (auto& model : own) model[i] = options_.share * model[i] + (1 - options_.share) * common[i];
    under_way_ = nullptr;
    left_ = 0;
  }

  Options options_;
  std::vector<Fragment> fragments_;

  std::vector<double> velocity_;
  std::vector<std::vector<double>> samples_;
  const Fragment* under_way_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace

TEST_CASE("fragments hold every matrix once, and are as equal as whole matrices allow", "[strategies]") {
  const std::vector<core::Matrix> layout = small_layout();
  for (std::size_t count = 1; count <= 9; ++count) {
    const std::vector<Fragment> fragments = strategies::packed_fragments(layout, count);
    REQUIRE(fragments.size() == std::min(count, layout.size()));
    std::vector<std::size_t> all, sizes;
    for (const Fragment& fragment : fragments) {
      const auto elements = elements_of(fragment);
      CHECK(elements.size() == fragment.size());
      CHECK(std::ranges::is_sorted(elements));
      all.insert(all.end(), elements.begin(), elements.end());
      sizes.push_back(fragment.size());
      for (std::size_t i = 0; i + 1 < fragment.ranges().size(); ++i)
        CHECK(fragment.ranges()[i].end < fragment.ranges()[i + 1].begin);  // neighbours are merged
      for (const core::Matrix& matrix : layout) {
        const auto held = std::ranges::count_if(
            elements, [&](std::size_t i) { return i >= matrix.range().begin && i < matrix.range().end; });
        CHECK((held == 0 || static_cast<std::size_t>(held) == matrix.shape.size()));
      }
    }
    std::ranges::sort(all);
    std::vector<std::size_t> expected(length);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    CHECK(all == expected);
    if (count <= 3) CHECK(std::ranges::max(sizes) - std::ranges::min(sizes) <= 2);
    CHECK(std::ranges::count(sizes, 0u) == 0);
  }
}

TEST_CASE("strided fragments hold every P-th block, and the first what belongs to none", "[strategies]") {
  std::vector<core::Matrix> layout = small_layout();
  const std::vector<int> blocks{-1, 0, 0, 1, 2, 3, -1};
  for (std::size_t i = 0; i < layout.size(); ++i) layout[i].block = blocks[i];
  for (std::size_t count = 1; count <= 6; ++count) {
    const std::vector<Fragment> fragments = strategies::strided_fragments(layout, count);
    REQUIRE(fragments.size() == std::min<std::size_t>(count, 4));  // as many as blocks
    for (std::size_t p = 0; p < fragments.size(); ++p) {
      std::vector<std::size_t> expected;
      for (const core::Matrix& matrix : layout)
        if ((matrix.block < 0 && p == 0) || (matrix.block >= 0 && static_cast<std::size_t>(matrix.block) % count == p))
          for (std::size_t e = matrix.begin; e < matrix.range().end; ++e) expected.push_back(e);
      CHECK(elements_of(fragments[p]) == expected);
    }
  }
}

TEST_CASE("a part of a packed fragment lies where packing took it from", "[strategies]") {
  const Fragment fragment({{20, {2, 2}}, {3, {3, 2}}, {9, {1, 2}}, {30, {1, 1}}});
  CHECK(fragment.size() == 13);
  std::size_t packed = 0;
  for (const core::Matrix& matrix : fragment.layout()) {
    CHECK(matrix.begin == packed);
    packed = matrix.range().end;
  }
  CHECK(packed == fragment.size());
  CHECK(std::ranges::equal(fragment.ranges(), std::vector<core::Range>{{3, 11}, {20, 24}, {30, 31}}));
  const auto elements = elements_of(fragment);
  for (std::size_t begin = 0; begin <= fragment.size(); ++begin)
    for (std::size_t end = begin; end <= fragment.size(); ++end) {
      std::vector<std::size_t> found;
      for (const core::Range range : fragment.unpacked({begin, end}))
        for (std::size_t i = range.begin; i < range.end; ++i) found.push_back(i);
      CHECK(std::ranges::equal(found, core::Range{begin, end}.of(std::span(elements))));
    }
}

TEST_CASE("streaming_diloco follows its formulas", "[strategies]") {
  const int workers = GENERATE(1, 2, 3);
  const Options options = GENERATE(values<Options>(
      {{1, 0, 0}, {1, 2, 0.5}, {1, 6, 0}, {2, 0, 0.3}, {2, 1, 0}, {3, 1, 0.5}, {3, 2, 0.25}, {3, 100, 0}, {9, 1, 0.5}}));
  core::Settings settings = options.settings();
  settings["collective"] = GENERATE("ring", "butterfly");
  CAPTURE(workers, options.fragments, options.delay, options.share);
  Reference reference(workers, options);
  reference.train();
  std::vector<std::vector<float>> own(static_cast<std::size_t>(workers)), shown(own), resumed(own);
  sim::run(workers, [&](comm::Worker& worker) {
    StrategyHarness harness(worker, "streaming_diloco", settings);
    const std::vector<core::Matrix> layout = small_layout();
    strategies::Replica replica{harness.parameters, layout, harness.stages, *harness.optimiser, {}};
    harness.strategy->start(worker, replica);
    auto& strategy = dynamic_cast<MeetingStrategy&>(*harness.strategy);
    train_blocks(worker, strategy, replica);
    const auto rank = static_cast<std::size_t>(worker.rank());
    own[rank] = harness.parameters;
    strategy.show_model(worker, replica);
    shown[rank] = harness.parameters;
    strategy.resume_work(worker, replica);
    resumed[rank] = harness.parameters;
  });
  CHECK(own == resumed);
  for (std::size_t k = 0; k < own.size(); ++k) {
    CHECK(shown[k] == shown[0]);
    for (std::size_t i = 0; i < length; ++i) {
      REQUIRE(own[k][i] == Approx(reference.own[k][i]).epsilon(1e-5).margin(2e-5));
      REQUIRE(shown[k][i] == Approx(reference.common[i]).epsilon(1e-5).margin(2e-5));
    }
  }
}

TEST_CASE("at each meeting streaming_diloco sends a P-th of what diloco sends at once", "[strategies]") {
  const std::size_t fragments = GENERATE(2u, 4u);
  std::vector<core::Matrix> layout;
  for (std::size_t i = 0; i < 4; ++i) layout.push_back({64 * i, {8, 8}});
  std::uint64_t at_once = 0;
  std::vector<std::uint64_t> in_turn;
  sim::run(4, [&](comm::Worker& worker) {
    std::vector<float> parameters(256);
    const auto sent_by = [&](const std::string& name, const core::Settings& settings, const auto& meet) {
      StrategyHarness harness(worker, name, settings);
      strategies::Replica replica{parameters, layout, harness.stages, *harness.optimiser, {}};
      harness.strategy->start(worker, replica);
      return meet(*harness.strategy, replica);
    };
    const auto counted = [&](const auto& action) {
      const std::uint64_t before = worker.comm().traffic().sent_bytes;
      action();
      worker.join();
      return worker.comm().traffic().sent_bytes - before;
    };
    const std::uint64_t all = sent_by("diloco", {}, [&](strategies::Strategy& strategy, strategies::Replica& replica) {
      return counted([&] { strategy.synchronise(worker, replica, 1); });
    });
    const core::Settings settings{{"fragments", fragments}, {"fragment-cut", "packed"}};
    const auto each = sent_by("streaming_diloco", settings, [&](strategies::Strategy& any, strategies::Replica& replica) {
      auto& strategy = dynamic_cast<MeetingStrategy&>(any);
      std::vector<std::uint64_t> bytes;
      for (std::size_t round = 1; round <= 4; ++round)
        bytes.push_back(
            counted([&] { strategy.meet(worker, replica, {.round = round, .rounds = 4, .passed = 1, .samples = 1}); }));
      return bytes;
    });
    if (worker.rank() == 1) at_once = all, in_turn = each;
  });
  constexpr std::uint64_t count_of_samples = 8;
  for (std::size_t round = 1; round <= 4; ++round)
    CHECK(in_turn[round - 1] ==
          (round * fragments % 4 == 0 ? (at_once - count_of_samples) / fragments + count_of_samples : 0));
}

TEST_CASE("streaming_diloco has a fragment under way between blocks, and says so in its state", "[strategies]") {
  sim::run(2, [](comm::Worker& worker) {
    StrategyHarness harness(worker, "streaming_diloco", Options{2, 100, 0.5}.settings());
    const std::vector<core::Matrix> layout = small_layout();
    strategies::Replica replica{harness.parameters, layout, harness.stages, *harness.optimiser, {}};
    harness.strategy->start(worker, replica);
    auto& strategy = dynamic_cast<MeetingStrategy&>(*harness.strategy);
    train_blocks(worker, strategy, replica);
    worker.join();
    core::StateView state;
    strategy.describe_state(state);
    std::map<std::string, double> numbers;
    for (const auto& number : state.numbers) numbers[number.name] = number.get();
    CHECK(numbers.at("under_way") == 2);
    CHECK(numbers.at("rounds_left") > 50);
    CHECK(numbers.at("trained") > 0);
  });
}

TEST_CASE("streaming_diloco says when its delay is longer than the time to the next fragment, or fragments are fewer",
          "[strategies]") {
  strategies::Extent extent{8, 64000, 4};
  extent.local_steps = 12;
  std::vector<core::Matrix> layout = small_layout();
  for (std::size_t i = 0; i < layout.size(); ++i) layout[i].block = static_cast<int>(i);
  extent.layout = layout;
  const auto remarks = [&](std::size_t delay) {
    return strategies::make_strategy("streaming_diloco", {{"outer-delay", delay}})->explain(extent).lines;
  };
  CHECK(remarks(4).empty());
  CHECK(remarks(5) == std::vector<std::string>{"an outer delay of 5 minibatches is longer than the 4 between two fragments, "
                                               "so each is applied when the next one is sent; use longer blocks or fewer "
                                               "fragments"});
  extent.layout = std::span(layout).first(1);
  CHECK(remarks(11).size() == 1);
  CHECK(remarks(12).back().ends_with("use eager_diloco"));
  extent.layout = std::span(layout).first(2);
  CHECK(remarks(5) == std::vector<std::string>{"2 fragments instead of 3: the network has no more blocks"});
}
