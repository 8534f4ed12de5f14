// Waiting next to a busy thread on the same core, and on a core of one's own.
#include "comm/mpi/backoff.hpp"

#include <sched.h>

#include <atomic>
#include <thread>

#include "catch.hpp"

using namespace paragrad::comm;

namespace {

/// Keeps the calling thread on one core, until it is destroyed.
class OnOneCore {
 public:
  OnOneCore() {
    CPU_ZERO(&before_);
    REQUIRE(sched_getaffinity(0, sizeof before_, &before_) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    int core = 0;
    while (!CPU_ISSET(core, &before_)) ++core;
    CPU_SET(core, &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OnOneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OnOneCore(const OnOneCore&) = delete;

 private:
  cpu_set_t before_;
};

/// Computes without end on the core of the thread that makes it.
class BusyThread {
 public:
  ~BusyThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_{[this] {
    while (!stop_) {
    }
  }};
};

}  // namespace

TEST_CASE("a thread that waits next to a busy one on its core notices it, and then sleeps in its waits", "[comm]") {
  const OnOneCore pinned;
  const BusyThread other;  // inherits the core
  Competition competition;
  bool noticed = false;
  for (int i = 0; i < 1000 && !noticed; ++i) noticed = competition.yield();
  REQUIRE(noticed);
  CHECK(competition.left_of({}).polls == 0);
  CHECK(competition.left_of({}).yields_s == 0);
}

TEST_CASE("a thread that has not seen another on its core waits with the patience that it was given", "[comm]") {
  const Competition competition;
  const Patience usual;
  CHECK(competition.left_of(usual).polls == usual.polls);
  CHECK(competition.left_of(usual).yields_s == usual.yields_s);
}
