#include "comm/wrappers/shrinking_worker.hpp"

#include <numeric>

#include "backend/kernels/fill.hpp"
#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "sim/simulation.hpp"

using namespace paragrad;

TEST_CASE("workers go on without those that have left, in any order of leaving", "[sim]") {
  const std::vector<int> leaving = GENERATE(std::vector<int>{2}, std::vector<int>{1, 4}, std::vector<int>{4, 1, 3});
  const bool task = GENERATE(false, true);
  sim::run(6, [&](comm::Worker& all) {
    comm::ShrinkingWorker worker(all);
    for (const int gone : leaving) {
      worker.membership().leave_out(gone);
      worker.membership().leave_out(gone);  // is known already
    }
    if (std::ranges::find(leaving, all.rank()) != leaving.end()) return;
    CHECK(worker.size() == 6 - static_cast<int>(leaving.size()));
    CHECK(all.membership().knows_of_loss());
    std::vector<float> data(worker.size());
    data[static_cast<std::size_t>(worker.rank())] = static_cast<float>(all.rank());
    const auto allreduce = comm::make_allreduce("ring");
    if (task)
      worker.launch([&](comm::Communicator& comm) { (*allreduce)(comm, data); }), worker.join();
    else
      (*allreduce)(worker.comm(), data);
    std::vector<float> left;
    for (int rank = 0; rank < 6; ++rank)
      if (std::ranges::find(leaving, rank) == leaving.end()) left.push_back(static_cast<float>(rank));
    CHECK(data == left);
  });
}

TEST_CASE("a worker that cannot go on without a peer says so", "[sim]") {
  sim::run(2, [](comm::Worker& worker) { CHECK_THROWS_AS(worker.membership().leave_out(1), comm::Failure); });
}

TEST_CASE("a run comes to its end without a worker that died and that nobody waits for", "[sim]") {
  sim::Platform platform = sim::free_platform(3);
  platform.device = {1e9, 1e9, 1, 1, 0};
  platform.faults.push_back({.at_s = 1e-6, .kind = sim::Platform::Fault::Kind::worker, .id = 1});
  int ended = 0;
  const auto body = [&](comm::Worker& worker) {
    std::vector<float> data(1000);
    for (int i = 0; i < 10; ++i) worker.run_kernels([&](backend::KernelQueue& queue) { queue.run(backend::Fill{1, data}); });
    ++ended;
  };
  CHECK_NOTHROW(sim::run(platform, 3, {}, body));
  CHECK(ended == 2);
  CHECK_THROWS_AS(sim::run(platform, 3, {},
                           [&](comm::Worker& worker) {
                             body(worker);
                             comm::barrier(worker.comm());
                           }),
                  comm::Failure);
}
