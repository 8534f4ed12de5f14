// The closed forms of comm/collectives/cost.hpp against what the simulator counts and times.
#include <algorithm>
#include <bit>

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "comm/collectives/cost.hpp"
#include "comm/operation_programs.hpp"
#include "comm/wrappers/addition_counter.hpp"
#include "core/errors.hpp"
#include "sim/network/surroundings.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

/// All algorithms of an allreduce with a closed form, but those that are made of others.
const std::vector<std::string> flat = [] {
  auto names = comm::collective_catalogue(comm::Operation::allreduce).names();
  std::erase_if(names, [](const std::string& name) { return name == "hierarchical" || !comm::has_closed_form(name); });
  return names;
}();

struct Measured {
  double time_s = 0;
  std::uint64_t messages = 0;
  std::uint64_t busiest_bytes = 0;
  std::uint64_t busiest_additions = 0;
};

Measured measure(const comm::testing::Served& served, const Platform& platform, int workers, std::size_t floats) {
  Measured result;
  const auto run_once = comm::testing::in_equal_parts(served);
  SimulationOptions options;
  options.device = "meta";
  const Report report = run(platform, workers, options, [&](comm::Worker& worker) {
    comm::AdditionCounter comm(worker.comm());
    core::Arena data = worker.device().allocate(floats);
    run_once(comm, data.span());
    result.messages += comm.traffic().messages;
    result.busiest_bytes = std::max(result.busiest_bytes, comm.traffic().sent_bytes);
    result.busiest_additions = std::max(result.busiest_additions, comm.added_bytes());
  });
  result.time_s = report.makespan_s;
  return result;
}

Measured measure(const std::string& algorithm, const Platform& platform, int workers, std::size_t floats) {
  return measure({comm::Operation::allreduce, algorithm}, platform, workers, floats);
}

comm::Surroundings alike(Link link) {
  const comm::Wire wire{link.latency_s, 0, link.bytes_per_s};
  return {wire, wire, 1};
}

Platform with_links(Platform platform, int links_per_node) {
  platform.leaf.nics_per_node = links_per_node;
  return platform;
}

/// Divides into equal stripes for n workers and for any smaller power of two.
std::size_t divisible(int workers, std::size_t at_least) {
  const std::size_t unit = static_cast<std::size_t>(workers) * 2 * std::bit_floor(static_cast<unsigned>(workers));
  return (at_least + unit - 1) / unit * unit;
}

std::vector<int> numbers_of_workers() {
  std::vector<int> all{64};
  for (int n = 2; n <= 17; ++n) all.push_back(n);
  return all;
}

bool clean(const std::string& algorithm, int workers) {
  const bool power = std::has_single_bit(static_cast<unsigned>(workers));
  return power || algorithm == "ring";
}

}  // namespace

TEST_CASE("closed forms: steps, messages and bytes are those that the simulator counts", "[sim]") {
  const int workers = GENERATE(from_range(numbers_of_workers()));
  const Link latency_only{1e-6, 1e18};
  for (const std::string& algorithm : flat) {
    CAPTURE(algorithm, workers);
    const std::size_t floats = divisible(workers, 1000);
    const comm::Cost cost =
        comm::cost_of(comm::Operation::allreduce, algorithm, workers, floats * sizeof(float), alike(latency_only));
    const Measured measured = measure(algorithm, uncontended(workers, latency_only), workers, floats);
    CHECK(std::llround(measured.time_s / latency_only.latency_s) == cost.steps);
    CHECK(measured.messages == cost.messages);
    CHECK(measured.busiest_bytes == cost.busiest_bytes);
    CHECK(measured.busiest_additions == cost.busiest_additions);
  }
}

TEST_CASE("closed forms: times are exact to a picosecond per step while no message is cut", "[sim]") {
  const int workers = GENERATE(from_range(numbers_of_workers()));
  const Link link{9.3e-6, 4.2e9};
  for (const std::string& algorithm : flat) {
    // Several children of one worker share its link, in turns that bytes and latency decide: within a few per cent only.
    const bool turns = algorithm == "double_tree" || algorithm == "parameter_server";
    if (!clean(algorithm, workers) || turns) continue;
    CAPTURE(algorithm, workers);
    const std::size_t floats = divisible(workers, 12'000);
    const comm::Cost cost =
        comm::cost_of(comm::Operation::allreduce, algorithm, workers, floats * sizeof(float), alike(link));
    const double time_s = measure(algorithm, uncontended(workers, link), workers, floats).time_s;
    const double messages = static_cast<double>(cost.messages) / workers;
    CHECK(std::abs(time_s - cost.time_s) <= 1e-12 * (cost.steps + messages));
  }
}

TEST_CASE("closed forms: times hold for long arrays and odd numbers of workers too, within bounds", "[sim]") {
  const int workers = GENERATE(2, 3, 5, 8, 13, 16, 17, 64);
  const std::size_t floats = GENERATE(10'000u, 100'000u, 1'000'000u, 10'000'000u);
  const Link link{9.3e-6, 4.2e9};
  for (const std::string& algorithm : flat) {
    if (algorithm == "parameter_server" && workers * floats > 20'000'000) continue;  // many messages
    CAPTURE(algorithm, workers, floats);
    const double predicted =
        comm::cost_of(comm::Operation::allreduce, algorithm, workers, floats * sizeof(float), alike(link)).time_s;
    const double time_s = measure(algorithm, uncontended(workers, link), workers, floats).time_s;
    CHECK(time_s == Approx(predicted).epsilon(algorithm == "double_tree" || algorithm == "butterfly" ? 0.25 : 0.1));
  }
}

TEST_CASE("closed forms: where workers share their node's links, each step takes as long as the links need", "[sim]") {
  const int devices = GENERATE(2, 4, 8), links = GENERATE(1, 2, 8);
  if (links > devices) return;
  const std::size_t floats = GENERATE(1000u, 1'000'000u);
  const Link inside{1e-6, 20e9}, between{9e-6, 4e9};
  const int workers = 8 * devices;
  const Platform platform = with_links(platform_of(8, devices, inside, between), links);
  const comm::Surroundings where = surroundings_of(platform, devices);
  for (const std::string algorithm : {"ring", "butterfly", "halving_doubling", "hierarchical", "hierarchical:tree+ring",
                                      "hierarchical:ring+halving_doubling", "hierarchical:tree+butterfly",
                                      "hierarchical:butterfly+ring", "sharded_parameter_server", "double_tree"}) {
    CAPTURE(algorithm, devices, links, floats);
    const double predicted =
        comm::cost_of(comm::Operation::allreduce, algorithm, workers, floats * sizeof(float), where).time_s;
    const double time_s = measure(algorithm, platform, workers, floats).time_s;
    CHECK(time_s == Approx(predicted).epsilon(0.4));
  }
}

TEST_CASE("auto names what is faster with a platform's own links, and the parameters that choose it", "[sim]") {
  const Platform platform = with_links(platform_of(8, 8, {3.4e-6, 240e9}, {2e-6, 25e9}), 8);
  constexpr std::size_t floats = 25'000'000;
  const auto explained = [&](const std::string& name) {
    std::string text;
    run(platform, 64, {.device = "meta"}, [&](comm::Worker& worker) {
      if (worker.rank() == 0) text = comm::make_allreduce(name)->explain(worker.comm(), floats);
    });
    return text;
  };
  const std::string said = explained("auto");
  CAPTURE(said);
  REQUIRE(said.starts_with("ring for "));
  const std::string parameters = said.substr(said.rfind("auto:"));
  const std::string better = explained(parameters);
  CHECK(said.find(better.substr(0, better.find(' '))) != std::string::npos);
  CHECK(better.find("auto:") == std::string::npos);
  CHECK(measure(parameters, platform, 64, floats).time_s < 0.5 * measure("auto", platform, 64, floats).time_s);
}

TEST_CASE("closed forms: what an inner algorithm leaves at each of its owners goes between the nodes", "[sim]") {
  const Link inside{0, 1e18}, between{0, 1e9};
  const comm::Surroundings where{{0, 0, inside.bytes_per_s}, {0, 0, between.bytes_per_s}, 6};
  const std::size_t floats = divisible(6, 12'000);
  for (const std::string& inner : flat) {
    const std::string algorithm = "hierarchical:" + inner + "+ring";
    CAPTURE(algorithm);
    const comm::Cost cost = comm::cost_of(comm::Operation::allreduce, algorithm, 24, floats * sizeof(float), where);
    const Measured measured = measure(algorithm, platform_of(4, 6, inside, between), 24, floats);
    CHECK(measured.messages == cost.messages);
    CHECK(measured.time_s == Approx(cost.time_s).epsilon(0.01));
  }
}

TEST_CASE("closed forms: groups that lie on one node, as the last node is half empty, share its link", "[sim]") {
  const int workers = GENERATE(14, 30);
  const Link inside{1e-7, 1e12}, between{1e-6, 1e9};
  constexpr std::size_t floats = 1'000'000;
  const comm::Surroundings where{{inside.latency_s, 0, inside.bytes_per_s}, {between.latency_s, 0, between.bytes_per_s}, 4};
  for (const std::string outer : {"butterfly", "halving_doubling", "sharded_parameter_server", "double_tree"}) {
    CAPTURE(outer, workers);
    const std::string algorithm = "hierarchical:ring+" + outer;  // groups of two
    const double predicted =
        comm::cost_of(comm::Operation::allreduce, algorithm, workers, floats * sizeof(float), where).time_s;
    const double time_s = measure(algorithm, platform_of((workers + 3) / 4, 4, inside, between), workers, floats).time_s;
    CHECK(time_s == Approx(predicted).epsilon(0.4));
  }
}

TEST_CASE("closed forms of the other operations: steps, messages and bytes are those that the simulator counts", "[sim]") {
  const int workers = GENERATE(from_range(numbers_of_workers()));
  const Link latency_only{1e-6, 1e18};
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CAPTURE(served.name(), workers);
    const std::size_t floats = divisible(workers, 1000);
    const comm::Cost cost =
        comm::cost_of(served.operation, served.algorithm, workers, floats * sizeof(float), alike(latency_only));
    const Measured measured = measure(served, uncontended(workers, latency_only), workers, floats);
    CHECK(std::llround(measured.time_s / latency_only.latency_s) == cost.steps);
    CHECK(measured.messages == cost.messages);
    CHECK(measured.busiest_bytes == cost.busiest_bytes);
    CHECK(measured.busiest_additions == cost.busiest_additions);
  }
}

TEST_CASE("closed forms of the other operations: times are exact where all workers do the same, and close elsewhere",
          "[sim]") {
  const int workers = GENERATE(from_range(numbers_of_workers()));
  const Link link{9.3e-6, 4.2e9};
  const bool power = std::has_single_bit(static_cast<unsigned>(workers));
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CAPTURE(served.name(), workers);
    const std::size_t floats = divisible(workers, 12'000);
    const comm::Cost cost = comm::cost_of(served.operation, served.algorithm, workers, floats * sizeof(float), alike(link));
    const double time_s = measure(served, uncontended(workers, link), workers, floats).time_s;
    const double message_s = link.latency_s + static_cast<double>(floats * sizeof(float)) / link.bytes_per_s;
    const bool exact = served.operation != comm::Operation::broadcast || power;
    CHECK(std::abs(time_s - cost.time_s) <=
          (exact ? 1e-12 * (cost.steps + static_cast<double>(cost.messages) / workers) : 2 * message_s));
  }
}

TEST_CASE("closed forms of the other operations: times hold for long arrays too, within bounds", "[sim]") {
  const int workers = GENERATE(2, 3, 8, 13, 64);
  const std::size_t floats = GENERATE(100'000u, 1'000'000u, 10'000'000u);
  const Link link{9.3e-6, 4.2e9};
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CAPTURE(served.name(), workers, floats);
    const double predicted =
        comm::cost_of(served.operation, served.algorithm, workers, floats * sizeof(float), alike(link)).time_s;
    // Eager, so that the root of a tree sends in its order and not in that in which its children get ready.
    const double time_s = measure(served, uncontended(workers, link, 1 << 30), workers, floats).time_s;
    CHECK(time_s == Approx(predicted).epsilon(0.15));
  }
}

TEST_CASE("closed forms of the other operations: workers that share their node's links wait for them", "[sim]") {
  const int devices = GENERATE(2, 4, 8), links = GENERATE(1, 2, 8);
  if (links > devices) return;
  const std::size_t floats = GENERATE(1000u, 1'000'000u);
  const Link inside{1e-6, 20e9}, between{9e-6, 4e9};
  const Platform platform = with_links(platform_of(8, devices, inside, between), links);
  const comm::Surroundings where = surroundings_of(platform, devices);
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CAPTURE(served.name(), devices, links, floats);
    const double predicted =
        comm::cost_of(served.operation, served.algorithm, 8 * devices, floats * sizeof(float), where).time_s;
    const double time_s = measure(served, platform, 8 * devices, floats).time_s;
    CHECK(time_s == Approx(predicted).epsilon(0.4));
  }
}

TEST_CASE("every algorithm of the other operations has a closed form, and none for what it does not serve", "[sim]") {
  const auto where = alike({1e-6, 1e9});
  for (const comm::testing::Served& served : comm::testing::all_served()) {
    CHECK(comm::cost_of(served.operation, served.algorithm, 1, 1000, where).time_s == 0);
    CHECK(comm::cost_of(served.operation, served.algorithm, 4, 0, where).messages == 0);
  }
  CHECK_THROWS_AS(comm::cost_of(comm::Operation::broadcast, "ring", 4, 1000, where), core::ConfigError);
  CHECK_THROWS_AS(comm::cost_of(comm::Operation::all_to_all, "native", 4, 1000, where), core::ConfigError);
}

TEST_CASE("nothing is claimed of an allreduce without a closed form", "[sim]") {
  REQUIRE_THROWS_AS(comm::cost_of(comm::Operation::allreduce, "native", 4, 1000, alike({1e-6, 1e9})), core::ConfigError);
  REQUIRE_THROWS_AS(comm::cost_of(comm::Operation::allreduce, "rung", 4, 1000, alike({1e-6, 1e9})), core::ConfigError);
  CHECK(comm::cost_of(comm::Operation::allreduce, "ring", 1, 1000, alike({1e-6, 1e9})).time_s == 0);
}

TEST_CASE("an algorithm's closed form is in its help, too, unless it is made of others'", "[sim]") {
  for (const auto& entry : comm::collective_catalogue().entries)
    if (entry.name != "hierarchical") CHECK(comm::has_closed_form(entry.name) == !entry.formula.empty());
  CHECK(comm::has_closed_form("hierarchical:tree+ring"));
  CHECK_FALSE(comm::has_closed_form("rung"));
}

TEST_CASE("there is no closed form for workers that do not fill the nodes in rank order", "[sim]") {
  comm::Surroundings where = alike({1e-6, 1e9});
  where.workers_per_node = 0;
  CHECK_THROWS_WITH(comm::cost_of(comm::Operation::all_gather, "bruck", 4, 1000, where), contains_text("in rank order"));
}
