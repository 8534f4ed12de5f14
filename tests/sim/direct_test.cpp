// How long exchanges of parts take where messages stand in each other's way.
#include "catch.hpp"
#include "comm/operations.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

TEST_CASE("exchanges of long parts take what a worker's own messages take, though the workers begin at different times",
          "[sim]") {
  const int workers = GENERATE(7, 8, 12, 16);
  const bool sums = GENERATE(false, true);
  CAPTURE(workers, sums);
  constexpr std::size_t floats = 50'000;
  constexpr double bandwidth = 1e8, latency_s = 5e-5;
  constexpr int exchanges = 10;
  Platform platform = uncontended(workers, {latency_s, bandwidth});
  platform.message.handshake = true;
  std::vector<core::Range> parts;
  for (std::size_t k = 0; k < static_cast<std::size_t>(workers); ++k) parts.push_back({k * floats, (k + 1) * floats});
  double end_s = 0;
  run(platform, workers, {}, [&](comm::Worker& worker) {
    std::vector<float> array(parts.back().end);
    for (int late = worker.rank() % 3; late > 0; --late) {  // a crossing later, or two
      float ball = 0;
      worker.comm().send(worker.rank(), 0, std::span<const float>(&ball, 1));
      worker.comm().receive(worker.rank(), 0, std::span(&ball, 1));
    }
    for (int i = 0; i < exchanges; ++i)
      if (sums)
        comm::ReduceScatter("direct")(worker.comm(), comm::Parts(parts), array);
      else
        comm::AllGather("direct")(worker.comm(), comm::Parts(parts), array);
    end_s = std::max(end_s, worker.comm().now_s());
  });
  const double own_s = exchanges * (workers - 1) * static_cast<double>(floats * sizeof(float)) / bandwidth;
  CHECK(end_s >= own_s);
  CHECK(end_s <= 1.1 * own_s);
}
