#include "comm/parts.hpp"

#include <numeric>

#include "catch.hpp"
#include "comm/thread_communicator.hpp"

using namespace paragrad;
using comm::testing::run_threads;

namespace {

/// Parts of unequal lengths, one of them empty where there are three or more.
std::vector<core::Range> unequal_parts(int workers) {
  std::vector<core::Range> parts;
  std::size_t begin = 0;
  for (int k = 0; k < workers; ++k) {
    const std::size_t length = k == 2 ? 0 : 3 + static_cast<std::size_t>(5 * k);
    parts.push_back({begin, begin + length});
    begin += length;
  }
  return parts;
}

float addend(int rank, std::size_t i) { return 1.f / static_cast<float>(1 + 7 * rank + 3 * static_cast<int>(i)); }

}  // namespace

TEST_CASE("gather_parts gives everybody everybody's part", "[parts]") {
  const int workers = GENERATE(1, 2, 3, 5);
  const std::uint64_t delays = GENERATE(0u, 1u);
  const auto parts = unequal_parts(workers);
  std::vector<float> expected(parts.back().end);
  std::iota(expected.begin(), expected.end(), 1.f);
  run_threads(
      workers,
      [&](comm::Communicator& comm) {
        std::vector<float> mine(expected.size());
        const core::Range part = parts[static_cast<std::size_t>(comm.rank())];
        for (std::size_t i = part.begin; i < part.end; ++i) mine[i] = expected[i];
        comm::gather_parts(comm, parts, mine);
        if (mine != expected) throw std::runtime_error("another array");
      },
      delays);
}

TEST_CASE("sum_parts leaves each sum with its owner, added in the order that it promises", "[parts]") {
  const int workers = GENERATE(1, 2, 3, 5);
  const std::uint64_t delays = GENERATE(0u, 1u);
  const auto parts = unequal_parts(workers);
  run_threads(
      workers,
      [&](comm::Communicator& comm) {
        std::vector<float> array(parts.back().end);
        for (std::size_t i = 0; i < array.size(); ++i) array[i] = addend(comm.rank(), i);
        auto expected = array;
        const core::Range mine = parts[static_cast<std::size_t>(comm.rank())];
        for (std::size_t i = mine.begin; i < mine.end; ++i)
          for (int back = 1; back < workers; ++back) expected[i] += addend((comm.rank() + workers - back) % workers, i);
        comm::sum_parts(comm, parts, array);
        if (array != expected) throw std::runtime_error("another array");
      },
      delays);
}
