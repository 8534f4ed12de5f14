// Timing mode: the device meta, sizes without content.

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/contributions.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

Course allreduce_on(const std::string& device, const std::string& algorithm, int workers, std::size_t length) {
  Platform platform = platform_of(workers, 2, {1e-6, 10e9}, {3e-6, 4e9});
  platform.device = {4e12, 3e11, 1, 1, 8e-6};
  Course outcome;
  outcome.ends.resize(static_cast<std::size_t>(workers));
  const auto allreduce = comm::make_allreduce(algorithm);
  const Report report = run(platform, workers, SimulationOptions{.device = device}, [&](comm::Worker& worker) {
    core::Arena data = worker.device().allocate(length);
    (*allreduce)(worker.comm(), data.span());
    outcome.ends[static_cast<std::size_t>(worker.rank())] = simulated_time(worker);
  });
  outcome.messages = report.messages;
  outcome.bytes = report.bytes;
  return outcome;
}

}  // namespace

TEST_CASE("every collective takes the same simulated time without content as with it", "[sim]") {
  const int workers = GENERATE(1, 2, 7, 16);
  const std::size_t length = GENERATE(1u, 1000u, 300'001u);
  const std::string algorithm = GENERATE(from_range(comm::testing::own_algorithms()));
  CAPTURE(algorithm, workers, length);
  CHECK(allreduce_on("meta", algorithm, workers, length) == allreduce_on("cpu", algorithm, workers, length));
}

TEST_CASE("control messages have content in timing mode", "[sim]") {
  constexpr int workers = 9;
  int right = 0;
  run(free_platform(workers), workers, SimulationOptions{.device = "meta"}, [&](comm::Worker& worker) {
    double rank = worker.rank();
    comm::sum_in_rank_order(worker.comm(), {&rank, 1});
    right += rank == 36 && comm::first_error(worker.comm(), worker.rank() == 4 ? "four" : "") == "four";
  });
  CHECK(right == workers);
}

TEST_CASE("a model larger than any memory goes through an allreduce of a thousand workers", "[sim]") {
  constexpr int workers = 1000;
  const auto allreduce = comm::make_allreduce("butterfly");
  const Report report = run(free_platform(workers), workers, SimulationOptions{.device = "meta"}, [&](comm::Worker& worker) {
    core::Arena huge = worker.device().allocate(std::size_t{1} << 45);
    (*allreduce)(worker.comm(), huge.span().subspan(std::size_t{1} << 44, 1000));
  });
  CHECK(report.bytes == 4000u * (512 * 9 + 2 * 488));
}
