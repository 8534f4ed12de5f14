#include "comm/allreduce.hpp"

#include <cstring>
#include <limits>

#include "catch.hpp"
#include "comm/collectives/hierarchy.hpp"
#include "contributions.hpp"
#include "core/errors.hpp"
#include "sanitized.hpp"
#include "thread_communicator.hpp"

using namespace paragrad;
using namespace paragrad::comm::testing;
using comm::Communicator;

namespace {

using Arrays = std::vector<std::vector<float>>;

Arrays allreduced(const std::string& algorithm, Arrays arrays, std::uint64_t delays = 0) {
  run_threads(
      static_cast<int>(arrays.size()),
      [&](Communicator& comm) { (*comm::make_allreduce(algorithm))(comm, arrays[comm.rank()]); }, delays);
  return arrays;
}

Arrays contributions(int workers, std::size_t length) {
  Arrays arrays;
  for (int rank = 0; rank < workers; ++rank) arrays.push_back(contribution(rank, length));
  return arrays;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("an allreduce leaves the same bits on all workers, equal to the sum in double up to rounding", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 7, 8);
  const std::size_t length = GENERATE(0u, 1u, 5u, 1000u, 300000u);
  const Arrays before = contributions(workers, length);
  std::vector<double> sums(length), magnitudes(length);
  for (const auto& array : before) {
    for (std::size_t i = 0; i < length; ++i) {
      sums[i] += array[i];
      magnitudes[i] += std::abs(array[i]);
    }
  }
  for (const auto& algorithm : own_algorithms()) {
    CAPTURE(algorithm, workers, length);
    const Arrays after = allreduced(algorithm, before);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const double rounding = workers * magnitudes[i] * std::numeric_limits<float>::epsilon();
      if (!(std::abs(after[0][i] - sums[i]) <= rounding)) ++wrong;
    }
    CHECK(wrong == 0);
    for (const auto& array : after) CHECK(same_bits(array, after[0]));
  }
}

TEST_CASE("an allreduce of small integers is exact", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17);
  const std::size_t length = GENERATE(1u, 7u, 4099u);
  Arrays before(workers, std::vector<float>(length));
  for (int rank = 0; rank < workers; ++rank) {
    for (std::size_t i = 0; i < length; ++i) before[rank][i] = static_cast<float>(i % 1000 + rank * rank);
  }
  std::vector<float> sum(length);
  for (const auto& array : before) {
    for (std::size_t i = 0; i < length; ++i) sum[i] += array[i];
  }
  for (const auto& algorithm : own_algorithms()) {
    CAPTURE(algorithm, workers, length);
    CHECK(allreduced(algorithm, before) == Arrays(workers, sum));
  }
}

TEST_CASE("the bits of an allreduce do not depend on who is late", "[comm]") {
  const int workers = GENERATE(3, 4, 7);
  const std::size_t length = GENERATE(10u, 300000u);
  const Arrays before = contributions(workers, length);
  for (const auto& algorithm : own_algorithms()) {
    CAPTURE(algorithm, workers, length);
    const auto punctual = allreduced(algorithm, before)[0];
    for (const std::uint64_t delays : {1, 2, 3}) CHECK(same_bits(allreduced(algorithm, before, delays)[0], punctual));
  }
}

TEST_CASE("owned ranges cover the array, hold complete sums, and gather spreads what their owner made of them", "[comm]") {
  const int workers = GENERATE(1, 2, 3, 4, 5, 7, 8);
  const std::size_t length = GENERATE(0u, 1u, 5u, 1000u, 300000u);
  if (sanitized && length > 1000 && workers > 4) return;
  const Arrays before = contributions(workers, length);
  for (const auto& algorithm : own_algorithms()) {
    CAPTURE(algorithm, workers, length);
    const auto sum = allreduced(algorithm, before)[0];
    std::vector<float> expected(length);
    for (std::size_t i = 0; i < length; ++i) expected[i] = sum[i] / 2 + static_cast<float>(i);

    Arrays arrays = before;
    std::vector<core::Range> owned(workers);
    std::vector<char> complete(workers);  // not bool: written by several threads
    run_threads(workers, [&](Communicator& comm) {
      auto& mine = arrays[comm.rank()];
      const auto allreduce = comm::make_allreduce(algorithm);
      const core::Range range = owned[comm.rank()] = allreduce->owned(comm, length);
      allreduce->reduce_scatter(comm, mine);
      complete[comm.rank()] = true;
      for (std::size_t i = 0; i < length; ++i) {
        if (i < range.begin || i >= range.end) {
          // Only what is owned counts: gather must not spread leftovers.
          mine[i] = std::numeric_limits<float>::quiet_NaN();
          continue;
        }
        if (std::memcmp(&mine[i], &sum[i], sizeof(float)) != 0) complete[comm.rank()] = false;
        mine[i] = mine[i] / 2 + static_cast<float>(i);
      }
      allreduce->all_gather(comm, mine);
    });

    std::vector<int> owners(length);
    for (const auto& range : owned) {
      for (std::size_t i = range.begin; i < range.end; ++i) ++owners[i];
    }
    CHECK(std::count(owners.begin(), owners.end(), 0) == 0);
    const bool overlaps = std::any_of(owners.begin(), owners.end(), [](int count) { return count > 1; });
    if (algorithm.find("butterfly") == std::string::npos && algorithm.find("auto") == std::string::npos) CHECK(!overlaps);
    if (algorithm == "butterfly") CHECK(overlaps == (workers > 1 && length > 0));
    CHECK(std::count(complete.begin(), complete.end(), true) == workers);
    for (const auto& array : arrays) CHECK(same_bits(array, expected));
  }
}

TEST_CASE("the additions of each allreduce are made in the order that its file states", "[comm]") {
  // Four workers, one stripe each in the ring; the expected sums are written out.
  const Arrays x = contributions(4, 4);
  const auto sums = [&](const std::string& algorithm) { return allreduced(algorithm, x)[0]; };
  const auto at = [&](std::size_t i, auto order) { return order(x[0][i], x[1][i], x[2][i], x[3][i]); };
  const auto left_to_right = [](float a, float b, float c, float d) { return ((a + b) + c) + d; };
  const auto in_pairs = [](float a, float b, float c, float d) { return (a + b) + (c + d); };
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(sums("parameter_server")[i] == at(i, left_to_right));
    CHECK(sums("tree")[i] == at(i, in_pairs));
    CHECK(sums("butterfly")[i] == at(i, in_pairs));
    CHECK(sums("halving_doubling")[i] == at(i, in_pairs));
    CHECK(sums("ring")[i] == ((x[(i + 1) % 4][i] + x[(i + 2) % 4][i]) + x[(i + 3) % 4][i]) + x[i][i]);
    CHECK(sums("sharded_parameter_server")[i] == ((x[i][i] + x[(i + 1) % 4][i]) + x[(i + 2) % 4][i]) + x[(i + 3) % 4][i]);
    const auto first_tree = [](float a, float b, float c, float d) { return a + ((c + b) + d); };
    const auto second_tree = [](float a, float b, float c, float d) { return d + ((b + c) + a); };
    CHECK(sums("double_tree")[i] == (i < 2 ? at(i, first_tree) : at(i, second_tree)));
    CHECK(sums("hierarchical")[i] == at(i, in_pairs));  // nodes of two
    CHECK(sums("hierarchical:tree+parameter_server")[i] == at(i, in_pairs));
  }
}

TEST_CASE("the binomial tree gives the same bits with and without segments", "[comm]") {
  const int workers = GENERATE(2, 3, 6, 8);
  const std::size_t length = GENERATE(1u, 1000u, 300000u);
  const Arrays before = contributions(workers, length);
  const Arrays tree = allreduced("tree", before), binomial = allreduced("binomial", before);
  for (int rank = 0; rank < workers; ++rank) CHECK(same_bits(tree[rank], binomial[rank]));
}

TEST_CASE("a reduction moves long arrays in segments of 256 kB, so that its scratch memory is small", "[comm]") {
  const int workers = GENERATE(2, 4, 8);
  for (const auto& algorithm : own_algorithms()) {
    if (algorithm == "binomial") continue;  // its point is that it does not
    CAPTURE(algorithm, workers);
    std::vector<std::size_t> longest(workers);
    run_threads(workers, [&](Communicator& comm) {
      std::vector<float> data(600'000, 1.f);
      comm::make_allreduce(algorithm)->reduce_scatter(comm, data);
      longest[comm.rank()] = dynamic_cast<ThreadCommunicator&>(comm).longest_receive();
    });
    for (const auto bytes : longest) CHECK(bytes <= 256 * 1024);
  }
}

TEST_CASE("hierarchical sums inside groups of workers first, and auto does what it says", "[comm]") {
  const int workers = GENERATE(2, 4, 6, 8);
  const std::size_t length = GENERATE(3u, 1000u);
  const Arrays before = contributions(workers, length);
  Arrays node_sums(workers / 2);
  for (int node = 0; node < workers / 2; ++node)
    node_sums[node] = allreduced("tree", {before[2 * node], before[2 * node + 1]})[0];
  CHECK(same_bits(allreduced("hierarchical:tree+ring", before)[0], allreduced("ring", node_sums)[0]));

  std::string said;
  run_threads(workers, [&](Communicator& comm) {
    if (comm.rank() == 0) said = comm::make_allreduce("auto:1us,1MBps")->explain(comm, length);
  });
  const std::string chosen = said.substr(0, said.find(' '));
  CHECK(same_bits(allreduced("auto:1us,1MBps", before)[0], allreduced(chosen, before)[0]));
  CHECK(said.find("closed form") != std::string::npos);
}

TEST_CASE("groups of workers are nodes, or equal parts of nodes where those do not fit", "[comm]") {
  using comm::collectives::workers_of_group;
  CHECK(workers_of_group(8, 4) == 4);
  CHECK(workers_of_group(6, 4) == 2);
  CHECK(workers_of_group(7, 4) == 1);
  CHECK(workers_of_group(3, 8) == 3);
  CHECK(workers_of_group(5, 1) == 1);
  REQUIRE_THROWS_WITH(workers_of_group(4, 0), contains_text("`workers-per-node`"));
}

TEST_CASE("a mistake in an allreduce's parameters is told with an example", "[comm]") {
  const auto refused = [](const char* name, const char* hint) {
    CAPTURE(name);
    REQUIRE_THROWS_AS(comm::make_allreduce(name), core::ConfigError);
    REQUIRE_THROWS_WITH(comm::make_allreduce(name), contains_text(hint));
  };
  refused("ring:2", "'ring:2': ring takes no parameters");
  refused("ring:", "give parameters after the colon");
  refused("hierarchical:tree", "like hierarchical:tree+ring");
  refused("hierarchical:+ring", "like hierarchical:tree+ring");
  refused("hierarchical:tree+", "like hierarchical:tree+ring");
  refused("hierarchical:tree+ring+ring", "like hierarchical:tree+ring");
  refused("hierarchical:native+ring", "native");
  refused("hierarchical:ring+auto", "auto");
  refused("hierarchical:ring+rung", "unknown allreduce algorithm 'rung'");
  refused("auto:10us", "like auto:10us,6GBps");
  refused("auto:10us,fast", "like auto:10us,6GBps");
  refused("auto:10,6GBps", "like auto:10us,6GBps");
  refused("auto:-1us,6GBps", "like auto:10us,6GBps");
  refused("auto:1us,0GBps", "like auto:10us,6GBps");
  refused("auto:1us,6GBps,2us", "3 values instead of 2, 4 or 5");
  refused("auto:1us,6GBps,2us,0GBps", "nor the bandwidth zero");
  refused("auto:1us,6GBps,2us,20GBps,0", "'0' is not a number of links");
  refused("auto:1us,6GBps,2us,20GBps,4,4", "6 values");
}

TEST_CASE("an unknown allreduce is refused with the names that exist", "[comm]") {
  REQUIRE_THROWS_AS(comm::make_allreduce("rung"), core::ConfigError);
  REQUIRE_THROWS_WITH(comm::make_allreduce("rung"),
                      contains_text("'rung'") && contains_text("ring, tree, binomial, butterfly"));
  for (const std::string& name : comm::collective_catalogue(comm::Operation::allreduce).names())
    CHECK(comm::make_allreduce(name) != nullptr);
}
