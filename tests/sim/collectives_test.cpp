#include <algorithm>

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "comm/operation_programs.hpp"
#include "sanitized.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::testing::contribution;
using comm::testing::hash_of;
using comm::testing::own_algorithms;

namespace {

constexpr int most_workers = 7;
constexpr std::size_t longest = 150'000;

/// contribution(), of which most is drawn once: under sanitizers that takes longer than all collectives.
std::vector<float> drawn_contribution(int rank, std::size_t length) {
  static const auto all = [] {
    std::vector<std::vector<float>> of_ranks;
    for (int i = 0; i < most_workers; ++i) of_ranks.push_back(contribution(i, longest));
    return of_ranks;
  }();
  const std::vector<float>& mine = all.at(static_cast<std::size_t>(rank));
  return {mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(length)};
}

std::vector<std::string> hashes(const std::string& algorithm, int workers, std::size_t length, std::int64_t eager_bytes,
                                const Platform::Reduction& reduction = {}) {
  std::vector<std::string> result(static_cast<std::size_t>(workers));
  const auto allreduce = comm::make_allreduce(algorithm);
  Platform platform = platform_of((workers + 1) / 2, 2, {1e-6, 6e9}, {2e-6, 3e9}, eager_bytes);
  platform.reduction = reduction;
  run(platform, workers, {}, [&](comm::Worker& worker) {
    auto data = drawn_contribution(worker.rank(), length);
    (*allreduce)(worker.comm(), data);
    result[static_cast<std::size_t>(worker.rank())] = hash_of(data);
  });
  return result;
}

}  // namespace

TEST_CASE("no collective relies on buffering: all messages eager, or none, gives the same sums and no deadlock", "[sim]") {
  const std::string algorithm = GENERATE(from_range(own_algorithms()));
  const int workers = GENERATE(1, 2, 3, 4, most_workers);
  const std::size_t length = GENERATE(1u, 5u, 1000u, longest);
  CAPTURE(algorithm, workers, length);
  const auto buffered = hashes(algorithm, workers, length, std::numeric_limits<std::int64_t>::max());
  CHECK(hashes(algorithm, workers, length, 0) == buffered);
  CHECK(buffered == std::vector<std::string>(static_cast<std::size_t>(workers), buffered[0]));
}

TEST_CASE("how a platform cuts reductions changes no bit and leads to no deadlock", "[sim]") {
  const std::string algorithm = GENERATE(from_range(own_algorithms()));
  const int workers = GENERATE(2, 3, most_workers);
  const std::int64_t eager = GENERATE(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  const std::size_t segment = GENERATE(1024u, 20'000u), in_flight = GENERATE(2u, 64u);
  CAPTURE(algorithm, workers, eager, segment, in_flight);
  const Platform::Reduction reduction{.segmentation = {segment, in_flight}, .launches = false};
  CHECK(hashes(algorithm, workers, longest, eager, reduction) == hashes(algorithm, workers, longest, eager));
}

TEST_CASE("a platform cuts reductions as its section says, and its additions need no launch if it says so", "[sim]") {
  const comm::ReduceScatter ring("ring");
  struct Seen {
    double time_s = 0;
    std::uint64_t messages = 0;
  };
  const auto of = [&](const Platform::Reduction& reduction) {
    Platform platform = uncontended(2, {1e-6, 1e9}, 0);
    platform.device.launch_s = 1e-3;
    platform.reduction = reduction;
    Seen seen;
    run(platform, 2, {.device = "meta"}, [&](comm::Worker& worker) {
      core::Arena data = worker.device().allocate(100'000);
      ring(worker.comm(), comm::Parts::even(100'000, 2), data.span());
      if (worker.rank() == 0) seen = {worker.comm().now_s(), worker.comm().traffic().messages};
    });
    return seen;
  };
  const Seen whole = of({}), cut = of({.segmentation = {10'000, 2}}),
             quiet = of({.segmentation = {10'000, 2}, .launches = false});
  CHECK(whole.messages == 1);
  CHECK(cut.messages == 5);
  CHECK(whole.time_s == Approx(0.2e-3 + 1e-3).epsilon(0.01));
  CHECK(cut.time_s == Approx(0.2e-3 / 5 + 5e-3).epsilon(0.01));  // one arrives while another is added
  CHECK(quiet.time_s == Approx(0.2e-3).epsilon(0.05));
}

TEST_CASE("no other operation relies on buffering, and all give in the simulator what plain loops give", "[sim]") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9);
  const std::size_t length = GENERATE(0u, 1u, 5u, 1001u, 150'000u);
  const bool equal = GENERATE(true, false);
  const std::int64_t eager = GENERATE(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  if (length > 1001 && workers > (sanitized ? 2 : 4)) return;
  const comm::testing::Task task{workers, length, equal, comm::testing::whole_number};
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CAPTURE(served.name(), workers, length, equal, eager);
    std::vector<char> right(static_cast<std::size_t>(workers));
    Platform platform = platform_of((workers + 1) / 2, 2, {1e-6, 6e9}, {2e-6, 3e9}, eager);
    if (eager == 0) platform.reduction.segmentation = {1024, 5};
    run(platform, workers, {}, [&](comm::Worker& worker) {
      right[static_cast<std::size_t>(worker.rank())] = comm::testing::outcome_of(worker.comm(), served, task) ==
                                                       comm::testing::expected_of(worker.rank(), served.operation, task);
    });
    CHECK(std::ranges::count(right, 1) == workers);
  }
}

TEST_CASE("agreements do not rely on buffering", "[sim]") {
  const int workers = GENERATE(1, 2, 3, 4, 7);
  const std::int64_t eager = GENERATE(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  std::vector<double> sums(static_cast<std::size_t>(workers));
  std::vector<std::string> errors(static_cast<std::size_t>(workers));
  run(uncontended(workers, {1e-6, 1e9}, eager), workers, {}, [&](comm::Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    sums[rank] = worker.rank() + 1;
    comm::sum_in_rank_order(worker.comm(), {&sums[rank], 1});
    comm::barrier(worker.comm());
    errors[rank] = comm::first_error(
        worker.comm(), worker.rank() >= workers / 2 ? std::string(100, 'x') + worker.device().name().data() : "");
  });
  CHECK(sums == std::vector<double>(sums.size(), workers * (workers + 1) / 2.));
  CHECK(errors == std::vector<std::string>(errors.size(), std::string(100, 'x') + "cpu"));
}

TEST_CASE("a barrier lets nobody through before the last has come", "[sim]") {
  constexpr int workers = 5;
  Platform platform = uncontended(workers, {1e-6, 1e9});
  platform.device = {1e12, 1e12, 1, 1, 0};
  std::vector<double> came(workers), left(workers);
  run(platform, workers, {}, [&](comm::Worker& worker) {
    const auto rank = static_cast<std::size_t>(worker.rank());
    pass_time(worker, 100'000 * ((rank * 3) % workers));
    came[rank] = worker.comm().now_s();
    comm::barrier(worker.comm());
    left[rank] = worker.comm().now_s();
  });
  CHECK(*std::min_element(left.begin(), left.end()) >= *std::max_element(came.begin(), came.end()));
}

TEST_CASE("a ring of 256 workers over 1 MB sends 2(N-1)N messages and sums", "[sim]") {
  constexpr int workers = 256;
  constexpr std::size_t floats = 1 << 18;  // a stripe is 4 kB: one segment
  const auto ring = comm::make_allreduce("ring");
  std::vector<int> right(workers);
  const Report report = run(uncontended(workers, {1e-6, 5e9}), workers, {}, [&](comm::Worker& worker) {
    std::vector<float> data(floats, 1.f);
    (*ring)(worker.comm(), data);
    right[static_cast<std::size_t>(worker.rank())] = std::count(data.begin(), data.end(), float(workers)) == floats;
  });
  CHECK(report.messages == 2u * (workers - 1) * workers);
  CHECK(report.bytes == report.messages * (4 * floats / workers));
  CHECK(std::count(right.begin(), right.end(), 1) == workers);
}

TEST_CASE("long stripes travel in segments of the collectives", "[sim]") {
  constexpr int workers = 3;
  constexpr std::size_t floats = 3 * 100'000;  // a stripe is two segments on the way in, whole on the way out
  const auto ring = comm::make_allreduce("ring");
  const Report report = run(uncontended(workers, {1e-6, 5e9}), workers, {}, [&](comm::Worker& worker) {
    std::vector<float> data(floats, 1.f);
    (*ring)(worker.comm(), data);
  });
  CHECK(report.messages == (workers - 1) * workers * (2 + 1));
  CHECK(report.bytes == 2u * (workers - 1) * 4 * floats);
}

TEST_CASE("the library's own collective does not exist among emulated workers", "[sim]") {
  REQUIRE_THROWS_WITH(run(2,
                          [](comm::Worker& worker) {
                            std::vector<float> data(1);
                            (*comm::make_allreduce("native"))(worker.comm(), data);
                          }),
                      contains_text("native"));
}
