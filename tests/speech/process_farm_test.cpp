#include "speech/synthesis/process_farm.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

}  // namespace

TEST_CASE("results of processes come in order, whatever their number and lengths", "[speech]") {
  const std::size_t jobs = GENERATE(1u, 2u, 5u);
  int calls = 0;  // each child has its own
  std::vector<std::string> taken;
  in_processes(
      jobs,
      [&](std::uint64_t i) {
        ++calls;
        return std::string(i % 7 == 3 ? 3'000'000 : i % 7, static_cast<char>('a' + i % 26));
      },
      [&](std::string_view result) {
        taken.emplace_back(result);
        return taken.size() < 20;
      });
  REQUIRE(taken.size() == 20);
  for (std::size_t i = 0; i < 20; ++i)
    CHECK(taken[i] == std::string(i % 7 == 3 ? 3'000'000 : i % 7, static_cast<char>('a' + i % 26)));
  CHECK(calls == 0);
  CHECK(!has_children());
}

TEST_CASE("what goes wrong in a process is told once, and no process is left", "[speech]") {
  const auto run = [](auto fail) {
    in_processes(
        3,
        [&](std::uint64_t i) {
          if (i == 7) fail();
          return std::string(100, 'x');
        },
        [](std::string_view) { return true; });
  };
  REQUIRE_THROWS_AS(run([] { throw core::ConfigError("a user's mistake"); }), core::ConfigError);
  REQUIRE_THROWS_WITH(run([] { throw core::ConfigError("a user's mistake"); }), "a user's mistake");
  REQUIRE_THROWS_WITH(run([] { throw std::logic_error("a mistake of ours"); }), "a mistake of ours");
  REQUIRE_THROWS_WITH(run([] { ::raise(SIGKILL); }), contains_text("was killed by signal 9"));
  REQUIRE_THROWS_WITH(run([] { ::_exit(3); }), contains_text("exited with status 3"));
  REQUIRE_THROWS_AS(in_processes(0, {}, {}), core::ConfigError);
  CHECK(!has_children());
}

TEST_CASE("what who takes results throws ends the processes", "[speech]") {
  REQUIRE_THROWS_WITH(in_processes(
                          2, [](std::uint64_t) { return std::string(10, 'x'); },
                          [](std::string_view) -> bool { throw core::ConfigError("the disk is full"); }),
                      "the disk is full");
  CHECK(!has_children());
}
