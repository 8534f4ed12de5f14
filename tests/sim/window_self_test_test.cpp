// The self-test of windows, over emulated workers' windows that are right and over some that are not.
#include "comm/window_self_test.hpp"

#include <atomic>
#include <cstdint>

#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;
using comm::Communicator;
using comm::Window;
using comm::WindowTrial;

namespace {

/// Windows with a fault each.
class FaultyWindow : public Window {
 public:
  FaultyWindow(std::unique_ptr<Window> inner, Communicator& comm, std::string fault)
      : inner_(std::move(inner)), comm_(comm), fault_(std::move(fault)) {}

  std::span<float> memory() override { return inner_->memory(); }
  void lock(int target, Lock kind) override { inner_->lock(target, fault_ == "excludes nobody" ? Lock::shared : kind); }
  void unlock(int target) override { inner_->unlock(target); }
  void get(int target, std::size_t at, std::span<float> to) override {
    if (fault_ == "crawls") pause(to.size());
    inner_->get(target, at, to);
  }
  void put(int target, std::size_t at, std::span<const float> from) override { inner_->put(target, at, from); }
  void accumulate(int target, std::size_t at, std::span<const float> from) override {
    if (fault_ == "adds slowly") pause(from.size());
    if (fault_ == "loses the last element") from = from.first(from.size() - 1);
    if (fault_ == "puts instead of adding") return inner_->put(target, at, from);
    inner_->accumulate(target, at, from);
  }
  std::uint64_t fetch_add(int target, std::size_t counter, std::uint64_t value) override {
    const std::uint64_t before = inner_->fetch_add(target, counter, value);
    return fault_ == "gives numbers twice" ? before / 2 * 2 : before;
  }
  std::optional<std::uint64_t> await_counter_for(std::size_t counter, std::uint64_t at_least, double limit_s) override {
    return inner_->await_counter_for(counter, at_least, limit_s);
  }

 private:
  void pause(std::size_t floats) {
    std::byte nothing[1];
    const auto never_comes = comm_.start_receive(comm_.rank(), 77, std::span(nothing));
    comm_.wait_for(never_comes, 100 * 4e-9 * static_cast<double>(floats));
    comm_.send(comm_.rank(), 77, std::span<const std::byte>());
    comm_.wait(never_comes);
  }

  std::unique_ptr<Window> inner_;
  Communicator& comm_;
  std::string fault_;
};

comm::WindowVerdict verdict_of(const std::string& fault, int workers) {
  comm::WindowVerdict verdict;
  run(uncontended(workers, {1e-6, 1e9}), workers, {}, [&](comm::Worker& worker) {
    std::atomic<std::uint64_t> steps = 0;
    const auto open = [&](std::size_t floats, std::size_t counters) {
      return std::make_unique<FaultyWindow>(worker.comm().open_window(floats, counters), worker.comm(), fault);
    };
    const WindowTrial trial = comm::try_windows(worker.comm(), open, steps);
    if (worker.rank() == 0) verdict = judge(trial, workers);
  });
  return verdict;
}

}  // namespace

TEST_CASE("the self-test of windows finds nothing wrong with those of emulated workers", "[sim]") {
  const int workers = GENERATE(1, 2, 3);
  std::vector<comm::WindowVerdict> verdicts(static_cast<std::size_t>(workers));
  run(uncontended(workers, {1e-6, 1e9}), workers, {},
      [&](comm::Worker& worker) { verdicts[static_cast<std::size_t>(worker.rank())] = comm::self_test_windows(worker); });
  for (const auto& verdict : verdicts) {
    CHECK(verdict.usable);
    CHECK(verdict.text == verdicts[0].text);
    CHECK_THAT(verdict.text, contains_text("this MPI's one-sided windows work") && !contains_text("inside MPI"));
  }
  CHECK(verdict_of("nothing", workers).usable);
}

TEST_CASE("the self-test of windows tells what is wrong with them", "[sim]") {
  const auto [fault, told] = GENERATE(table<std::string, std::string>(
      {{"loses the last element", "concurrent accumulates of several workers are partly lost"},
       {"puts instead of adding", "concurrent accumulates of several workers are partly lost"},
       {"gives numbers twice", "fetch_add does not return every number exactly once"}}));
  const int workers = GENERATE(2, 4);
  CAPTURE(fault, workers);
  const comm::WindowVerdict verdict = verdict_of(fault, workers);
  CHECK(!verdict.usable);
  CHECK_THAT(verdict.text, contains_text(told));
}

TEST_CASE("the self-test of windows tells how slow they are, and does not refuse them for that", "[sim]") {
  const int workers = GENERATE(2, 4);
  const comm::WindowVerdict crawling = verdict_of("crawls", workers), adding = verdict_of("adds slowly", workers);
  CHECK(crawling.usable);
  CHECK_THAT(crawling.text, contains_text("work: get and accumulate at 0.0"));
  CHECK(crawling.get_share < 0.1);
  CHECK(adding.usable);
  CHECK(adding.get_share > 0.1);
}
