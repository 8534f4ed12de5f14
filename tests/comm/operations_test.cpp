#include "comm/operations.hpp"

#include "catch.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "contributions.hpp"
#include "core/errors.hpp"
#include "operation_programs.hpp"
#include "sanitized.hpp"
#include "thread_communicator.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;
using comm::Operation;

namespace {

using Arrays = std::vector<std::vector<float>>;

Arrays outcomes(const Served& served, const Task& task, std::uint64_t delays = 0) {
  Arrays arrays(static_cast<std::size_t>(task.workers));
  run_threads(
      task.workers,
      [&](Communicator& comm) { arrays[static_cast<std::size_t>(comm.rank())] = outcome_of(comm, served, task); }, delays);
  return arrays;
}

Arrays all_expected(Operation operation, const Task& task) {
  Arrays arrays;
  for (int rank = 0; rank < task.workers; ++rank) arrays.push_back(expected_of(rank, operation, task));
  return arrays;
}

/// Magnitudes over six decades, so that another order of additions gives other bits.
float rough_number(int rank, std::size_t element) {
  return std::ldexp(1 + 0.37f * static_cast<float>((7 * static_cast<std::size_t>(rank) + 13 * element) % 101),
                    static_cast<int>((element + 3 * static_cast<std::size_t>(rank)) % 20));
}

}  // namespace

TEST_CASE("every algorithm of every operation gives what plain loops give", "[comm][operations]") {
  const int workers = GENERATE(range(1, 14));
  const std::size_t length = GENERATE(0u, 1u, 2u, 3u, 5u, 8u, 12u, 13u, 14u, 64u, 1001u);
  const bool equal = GENERATE(true, false);
  const Task task{workers, length, equal, whole_number};
  for (const Served& served : all_served()) {
    CAPTURE(served.name(), workers, length, equal);
    CHECK(outcomes(served, task) == all_expected(served.operation, task));
  }
}

TEST_CASE("so it does where arrays are longer than segments, and for more workers", "[comm][operations]") {
  const auto [workers, length] = GENERATE(table<int, std::size_t>({{2, 300'001}, {3, 700'000}, {7, 600'000}, {17, 999}}));
  const bool equal = GENERATE(true, false);
  if (sanitized && length > 300'001) return;
  const Task task{workers, length, equal, whole_number};
  for (const Served& served : all_served()) {
    CAPTURE(served.name(), workers, length, equal);
    CHECK(outcomes(served, task) == all_expected(served.operation, task));
  }
}

TEST_CASE("the bits of every operation do not depend on who is late", "[comm][operations]") {
  const int workers = GENERATE(3, 4, 7);
  const Task task{workers, 1000, GENERATE(true, false), rough_number};
  for (const Served& served : all_served()) {
    CAPTURE(served.name(), workers);
    const Arrays punctual = outcomes(served, task);
    for (const std::uint64_t delays : {1, 2}) CHECK(outcomes(served, task, delays) == punctual);
  }
}

TEST_CASE("reduce_scatter adds in the order that each algorithm's file states", "[comm][operations]") {
  constexpr int workers = 5;
  const Task task{workers, 60, GENERATE(true, false), rough_number};
  const auto parts = task.parts();
  const auto check = [&](const char* algorithm, const std::function<float(int owner, std::size_t i)>& sum) {
    CAPTURE(algorithm);
    const Arrays sums = outcomes({Operation::reduce_scatter, algorithm}, task);
    for (int k = 0; k < workers; ++k) {
      std::vector<float> expected;
      for (std::size_t i = parts[k].begin; i < parts[k].end; ++i) expected.push_back(sum(k, i));
      CHECK(sums[k] == expected);
    }
  };
  const auto x = [&](int rank, std::size_t i) { return rough_number((rank + workers) % workers, i); };
  check("ring", [&](int k, std::size_t i) { return (((x(k + 1, i) + x(k + 2, i)) + x(k + 3, i)) + x(k + 4, i)) + x(k, i); });
  check("direct",
        [&](int k, std::size_t i) { return (((x(k, i) + x(k - 1, i)) + x(k - 2, i)) + x(k - 3, i)) + x(k - 4, i); });
  // Distances 4, 2, 1: worker k adds what came from k-4, the sum of k-2 and the sum of k-1, which k-3 has reached by 2.
  check("bruck",
        [&](int k, std::size_t i) { return ((x(k, i) + x(k - 4, i)) + x(k - 2, i)) + (x(k - 1, i) + x(k - 3, i)); });
}

TEST_CASE("the ring's reduce_scatter and all_gather are the halves of its allreduce", "[comm][operations]") {
  const int workers = GENERATE(1, 2, 5);
  const Task task{workers, 1000, true, rough_number};
  run_threads(workers, [&](Communicator& comm) {
    auto halves = task.array_of(comm.rank(), task.length), whole = halves;
    const comm::Parts parts = comm::Parts::even(task.length, workers);
    comm::ReduceScatter("ring")(comm, parts, halves);
    comm::AllGather("ring")(comm, parts, halves);
    (*comm::make_allreduce("ring"))(comm, whole);
    if (halves != whole) throw std::runtime_error("another sum");
  });
}

TEST_CASE("operations run among a group of workers", "[comm][operations]") {
  const Task task{3, 100, false, whole_number};
  for (const Served& served : all_served()) {
    CAPTURE(served.name());
    Arrays arrays(6);
    run_threads(6, [&](Communicator& comm) {
      comm::GroupCommunicator group(comm, {comm.rank() % 2, 2, 3});
      arrays[static_cast<std::size_t>(comm.rank())] = outcome_of(group, served, task);
    });
    for (int rank = 0; rank < 6; ++rank) CHECK(arrays[rank] == expected_of(rank / 2, served.operation, task));
  }
}

TEST_CASE("equal parts are core::part_of, and neighbours are one range", "[comm][operations]") {
  const std::size_t length = GENERATE(0u, 1u, 7u, 100u);
  const int workers = GENERATE(1, 3, 8);
  const comm::Parts even = comm::Parts::even(length, workers);
  std::vector<core::Range> ranges;
  for (int k = 0; k < workers; ++k) ranges.push_back(even.of(k));
  const comm::Parts listed(ranges);
  CHECK(listed.length() == length);
  CHECK(listed.largest() == even.largest());
  CHECK(even.between(0, workers) == core::Range{0, length});
  for (int k = 0; k < workers; ++k) {
    CHECK(even.of(k) == core::part_of(length, static_cast<std::size_t>(workers), static_cast<std::size_t>(k)));
    CHECK(listed.between(0, k + 1) == even.between(0, k + 1));
  }
}

TEST_CASE("parts that overlap, leave gaps or do not fit the array are refused", "[comm][operations]") {
  const auto refused = [](const std::vector<core::Range>& ranges) {
    CHECK_THROWS_AS(comm::Parts(ranges), std::logic_error);
  };
  refused({});
  refused({{1, 3}});
  refused({{0, 3}, {2, 5}});
  refused({{0, 3}, {4, 5}});
  refused({{3, 5}, {0, 3}});
  refused({{0, 3}, {3, 2}});
  CHECK_THROWS_AS(comm::Parts::even(3, 0), std::logic_error);

  run_threads(2, [&](Communicator& comm) {
    std::vector<float> array(6), other(6);
    const auto throws = [](const auto& action) {
      try {
        action();
      } catch (const std::logic_error&) {
        return;
      }
      throw std::runtime_error("not refused");
    };
    throws([&] { comm::AllGather("ring")(comm, comm::Parts::even(5, 2), array); });
    throws([&] { comm::AllGather("direct")(comm, comm::Parts::even(6, 3), array); });
    throws([&] { comm::ReduceScatter("bruck")(comm, comm::Parts::even(7, 2), array); });
    throws([&] {
      comm::AllToAll("bruck")(
          comm, [](int, int) { return std::size_t{2}; }, array, other);
    });
    throws([&] {
      comm::AllToAll("direct")(
          comm, [](int f, int) { return std::size_t(f + 2); }, array, other);
    });
  });
}

TEST_CASE("an algorithm that does not serve an operation is refused with those that do", "[comm][operations]") {
  const auto refused = [](Operation operation, const char* algorithm, const auto& hint) {
    CAPTURE(algorithm);
    REQUIRE_THROWS_AS(comm::check_algorithm(operation, algorithm), core::ConfigError);
    REQUIRE_THROWS_WITH(comm::check_algorithm(operation, algorithm), hint);
  };
  refused(Operation::broadcast, "ring", contains_text("'ring'") && contains_text("tree, binomial, scatter_all_gather"));
  refused(Operation::all_to_all, "native", contains_text("direct, bruck"));
  refused(Operation::allreduce, "bruck", contains_text("reduce_scatter, all_gather, all_to_all; for allreduce choose"));
  refused(Operation::all_gather, "brook",
          contains_text("unknown all_gather algorithm 'brook'; did you mean bruck? (known: ring, direct, bruck"));
  refused(Operation::all_gather, "bruck:2", contains_text("bruck takes no parameters"));
  refused(Operation::all_gather, "bruck:", contains_text("after the colon"));
  CHECK_THROWS_WITH(comm::parse_operation("gather"), contains_text("'gather'") && contains_text("all_to_all"));
  for (const std::string& name : comm::operation_names()) {
    const Operation operation = comm::parse_operation(name);
    CHECK(comm::name_of(operation) == name);
    CHECK_NOTHROW(comm::check_algorithm(operation, comm::default_algorithm(operation)));
  }
}

TEST_CASE("every algorithm has a summary and serves an operation", "[comm][operations]") {
  for (const core::EntryInfo& entry : comm::collective_catalogue().entries) {
    CAPTURE(entry.name);
    CHECK(!entry.summary.empty());
    CHECK(!entry.serves.empty());
  }
  for (const Served& served : all_served()) CHECK_NOTHROW(comm::check_algorithm(served.operation, served.algorithm));
}
