#include "sim/network/storage.hpp"

#include "catch.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::sim;
using namespace paragrad::sim::testing;

namespace {

// When each worker has read `bytes`, `times` times; no two workers share a node unless devices > 1.
std::vector<double> read_ends(const Platform& platform, int workers, std::int64_t bytes, int times = 1, bool write = false) {
  Engine engine(static_cast<std::size_t>(workers), 1);
  Storage storage(engine, platform, workers);
  std::vector<double> ends(static_cast<std::size_t>(workers));
  for (int rank = 0; rank < workers; ++rank)
    engine.spawn(static_cast<std::uint32_t>(rank), [&, rank] {
      for (int i = 0; i < times; ++i) write ? storage.write(rank, bytes) : storage.read(rank, bytes);
      ends[static_cast<std::size_t>(rank)] = to_seconds(engine.now());
    });
  engine.run();
  return ends;
}

Platform with_storage(int nodes, int devices) {
  Platform platform = platform_of(nodes, devices, {1e-6, 1e9}, {1e-6, 1e9});
  platform.storage = Platform::Storage{1e9, 4e9, 2e9, 1e-3, 2};
  return platform;
}

}  // namespace

TEST_CASE("one client reads at its own link's speed after the open", "[sim]") {
  const std::int64_t bytes = GENERATE(1, 3'999'999, 4'000'001, 100'000'000);
  CHECK(read_ends(with_storage(4, 1), 1, bytes)[0] == Approx(1e-3 + static_cast<double>(bytes) / 1e9));
  CHECK(read_ends(with_storage(4, 1), 1, bytes, 3)[0] == Approx(3 * (1e-3 + static_cast<double>(bytes) / 1e9)));
  CHECK(read_ends(with_storage(4, 1), 1, 0)[0] == Approx(1e-3));
}

TEST_CASE("many clients share the aggregate about equally, and opens wait in a queue", "[sim]") {
  constexpr int clients = 16;
  constexpr std::int64_t bytes = 200'000'000;
  const auto read = read_ends(with_storage(clients, 1), clients, bytes);
  const auto wrote = read_ends(with_storage(clients, 1), clients, bytes, 1, true);
  const double last = *std::max_element(read.begin(), read.end()), first = *std::min_element(read.begin(), read.end());
  CHECK(last == Approx(clients * 0.2 / 4).epsilon(0.02));
  CHECK(first > 0.85 * last);
  CHECK(*std::max_element(wrote.begin(), wrote.end()) == Approx(clients * 0.2 / 2).epsilon(0.02));
  const auto opened = read_ends(with_storage(clients, 1), clients, 0);
  CHECK(*std::max_element(opened.begin(), opened.end()) == Approx(clients / 2 * 1e-3));
}

TEST_CASE("the workers of a node share its client link", "[sim]") {
  const auto ends = read_ends(with_storage(1, 3), 3, 100'000'000);
  CHECK(*std::max_element(ends.begin(), ends.end()) == Approx(0.3).epsilon(0.02));
}

TEST_CASE("a platform without storage has an ideal one", "[sim]") {
  CHECK(read_ends(uncontended(2, {1e-6, 1e9}), 2, 1'000'000'000) == std::vector<double>(2, 0.));
}

// Within 2 %: in which piece the last client waits is a matter of scheduling, which may turn out well by chance.
TEST_CASE("storage never gets faster when anything of it gets slower", "[sim]") {
  Platform base = with_storage(6, 1);
  const auto last = [](const Platform& platform) {
    const auto ends = read_ends(platform, 6, 30'000'000, 2);
    return *std::max_element(ends.begin(), ends.end());
  };
  const double reference = last(base);
  const auto with = [&](auto change) {
    Platform changed = base;
    change(*changed.storage);
    return last(changed);
  };
  for (const double factor : {1.1, 1.5, 2.0, 3.7}) {
    CAPTURE(factor);
    CHECK(with([&](auto& s) { s.client_bytes_per_s /= factor; }) >= 0.98 * reference);
    CHECK(with([&](auto& s) { s.read_bytes_per_s /= factor; }) >= 0.98 * reference);
    CHECK(with([&](auto& s) { s.open_s *= factor; }) >= 0.98 * reference);
  }
  CHECK(with([&](auto& s) { s.parallel_opens = 1; }) >= 0.98 * reference);
}
