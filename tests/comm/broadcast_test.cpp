#include "comm/broadcast.hpp"

#include "catch.hpp"
#include "contributions.hpp"
#include "thread_communicator.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;

TEST_CASE("a broadcast leaves worker 0's array on all workers", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17);
  const std::size_t length = GENERATE(0u, 1u, 5u, 16u, 1000u, 300'000u);
  CAPTURE(workers, length);
  std::vector<std::vector<float>> arrays(static_cast<std::size_t>(workers));
  run_threads(workers, [&](Communicator& comm) {
    auto& mine = arrays[static_cast<std::size_t>(comm.rank())];
    mine = contribution(comm.rank(), length);
    comm::broadcast(comm, mine);
  });
  for (const auto& array : arrays) CHECK(array == contribution(0, length));
}
