// What workers send and receive is counted where it passes.

#include <functional>
#include <vector>

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/wrappers/group_worker.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim::testing;
using comm::Traffic;

namespace {

std::vector<Traffic> traffic_of(int workers, const std::function<void(comm::Worker&)>& body) {
  std::vector<Traffic> traffic(static_cast<std::size_t>(workers));
  const sim::Report report = sim::run(workers, [&](comm::Worker& worker) {
    body(worker);
    comm::barrier(worker.comm());
    traffic[static_cast<std::size_t>(worker.rank())] = worker.comm().traffic();
  });
  Traffic total;
  for (const Traffic& one : traffic) total += one;
  CHECK(total.sent_bytes == total.received_bytes);
  CHECK(total.messages <= report.messages);
  return traffic;
}

Traffic of_barrier(int workers, int rank) {
  return traffic_of(workers, [](comm::Worker&) {})[static_cast<std::size_t>(rank)];
}

}  // namespace

TEST_CASE("a worker of a ring of n sends 2(n-1)/n of the array, on whichever channel", "[sim]") {
  constexpr int workers = 4;
  constexpr std::size_t floats = 400;
  const bool in_task = GENERATE(false, true);
  const auto ring = comm::make_allreduce("ring");
  const auto traffic = traffic_of(workers, [&](comm::Worker& worker) {
    std::vector<float> data(floats, 1.f);
    if (in_task) {
      worker.launch([&](comm::Communicator& comm) { (*ring)(comm, data); });
      worker.join();
    } else {
      comm::GroupWorker all(worker, 0, 1, workers);  // a wrapper's messages are its worker's
      (*ring)(all.comm(), data);
    }
  });
  for (int rank = 0; rank < workers; ++rank) {
    Traffic passed = traffic[static_cast<std::size_t>(rank)];
    passed -= of_barrier(workers, rank);
    CHECK(passed == Traffic{6, 6 * 400, 6 * 400, 0});
  }
}

TEST_CASE("a put counts as sent and a get as received, by the worker that starts it", "[sim]") {
  std::vector<Traffic> during(2);
  sim::run(2, [&](comm::Worker& worker) {
    const auto window = worker.comm().open_window(100, 1);
    std::vector<float> data(30, 1.f);
    const Traffic before = worker.comm().traffic();
    if (worker.rank() == 0) {
      window->lock(1, comm::Window::Lock::exclusive);
      window->put(1, 0, data);
      window->accumulate(1, 50, std::span(data).first(10));
      window->get(1, 70, std::span(data).first(20));
      window->unlock(1);
      window->fetch_add(1, 0, 1);
    }
    Traffic& mine = during[static_cast<std::size_t>(worker.rank())];
    mine = worker.comm().traffic();
    mine -= before;
    comm::barrier(worker.comm());
  });
  CHECK(during[0] == Traffic{2, 40 * 4, 20 * 4, 0});
  CHECK(during[1] == Traffic{});
}

TEST_CASE("a service's messages are not its worker's", "[sim]") {
  std::vector<Traffic> during(2);
  sim::run(2, [&](comm::Worker& worker) {
    float value = 0;
    if (worker.rank() == 1)
      worker.serve([](comm::Communicator& comm) {
        float request = 0;
        comm.receive(0, 1, std::span(&request, 1));
        comm.send(0, 2, std::span<const float>(&request, 1));
      });
    else
      worker.launch([&](comm::Communicator& comm) {
        comm.send(1, 1, std::span<const float>(&value, 1));
        comm.receive(1, 2, std::span(&value, 1));
      });
    worker.join();
    worker.join_service();
    during[static_cast<std::size_t>(worker.rank())] = worker.comm().traffic();
  });
  CHECK(during[0] == Traffic{1, 4, 4, 0});
  CHECK(during[1] == Traffic{});
}
