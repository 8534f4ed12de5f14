#include <atomic>

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "thread_communicator.hpp"

using namespace paragrad;
using comm::Communicator;
using comm::testing::run_threads;

TEST_CASE("sum_in_rank_order adds doubles left to right and gives everyone the same bits", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 7, 8, 13);
  const std::uint64_t delays = GENERATE(0u, 5u);
  const auto value = [](int rank, int i) { return (i + 1) * 1e16 / (rank * rank * rank + 1) + 0.1 * rank; };
  std::vector<double> expected(3);
  for (int i = 0; i < 3; ++i) {
    expected[i] = value(0, i);
    for (int rank = 1; rank < workers; ++rank) expected[i] += value(rank, i);
  }
  std::vector<std::vector<double>> sums(workers);
  run_threads(
      workers,
      [&](Communicator& comm) {
        auto& mine = sums[comm.rank()];
        for (int i = 0; i < 3; ++i) mine.push_back(value(comm.rank(), i));
        comm::sum_in_rank_order(comm, mine);
        comm::sum_in_rank_order(comm, {});
      },
      delays);
  for (const auto& sum : sums) CHECK(sum == expected);
}

TEST_CASE("first_error tells everyone the text of the lowest worker that has one", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 5, 8);
  const int lowest = GENERATE(0, 1, 2, 4, 7, 100);
  std::vector<std::string> heard(workers);
  run_threads(workers, [&](Communicator& comm) {
    const std::string mine = comm.rank() >= lowest ? "worker " + std::to_string(comm.rank()) + " has no file" : "";
    heard[comm.rank()] = comm::first_error(comm, mine);
  });
  const std::string expected = lowest < workers ? "worker " + std::to_string(lowest) + " has no file" : "";
  CHECK(heard == std::vector<std::string>(workers, expected));
}

TEST_CASE("nobody leaves a barrier before everyone has come", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 8);
  std::atomic<int> arrived = 0;
  std::vector<int> seen(workers);
  run_threads(
      workers,
      [&](Communicator& comm) {
        ++arrived;
        comm::barrier(comm);
        seen[comm.rank()] = arrived;
      },
      3);
  CHECK(seen == std::vector<int>(workers, workers));
}

TEST_CASE("the test transport finds code that relies on buffering or reuses memory too early", "[comm]") {
  const auto both_send_first = [&](Communicator& comm) {
    float mine[] = {1.f}, theirs[] = {0.f};
    comm.send(1 - comm.rank(), 0, std::span<const float>(mine));
    comm.receive(1 - comm.rank(), 0, std::span<float>(theirs));
  };
  REQUIRE_THROWS_WITH(run_threads(2, both_send_first, 0, 0.2), contains_text("nobody came"));

  const auto changes_what_it_sends = [&](Communicator& comm) {
    float value[] = {1.f};
    if (comm.rank() == 1) {
      comm.receive(0, 0, std::span<float>(value));
      return;
    }
    const auto request = comm.start_send(1, 0, std::span<const float>(value));
    value[0] = 2.f;
    comm.wait(request);
  };
  REQUIRE_THROWS_AS(run_threads(2, changes_what_it_sends), std::logic_error);
}
