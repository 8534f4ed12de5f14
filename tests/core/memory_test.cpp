#include "core/memory.hpp"

#include "catch.hpp"
#include "core/errors.hpp"

using namespace paragrad;
using namespace paragrad::core;

TEST_CASE("memory is free that the machine has available, with its swap", "[core]") {
  const std::string meminfo =
      "MemTotal:       9000 kB\nMemFree:        1000 kB\nMemAvailable:   5000 kB\nSwapFree:        200 kB\n";
  CHECK(free_memory({.meminfo = meminfo}) == 5200u * 1024);
  CHECK(free_memory({.meminfo = "MemTotal: 9000 kB\n"}) == std::nullopt);
  CHECK(free_memory(MemorySources{}) == std::nullopt);
}

TEST_CASE("the tightest control group, of either version, limits the memory that is free", "[core]") {
  const std::string plenty = "MemAvailable: 5000 kB\n";
  CHECK(free_memory({.meminfo = plenty, .groups = {{"max\n", "anon 900\n"}}}) == 5000u * 1024);
  CHECK(free_memory({.meminfo = plenty, .groups = {{"3000\n", "anon 900\nfile 2000\n"}}}) == 2100u);
  CHECK(free_memory({.groups = {{"3000\n", "cache 7\ntotal_cache 2000\ntotal_rss 1000\n"}}}) == 2000u);
  CHECK(free_memory({.groups = {{"3000\n", "anon 10\n"}, {"max\n", "anon 10\n"}, {"2000\n", "anon 500\n"}}}) == 1500u);
  CHECK(free_memory({.groups = {{"3000\n", "anon 4000\n"}}}) == 0u);  // the limit was lowered meanwhile
  CHECK(free_memory({.groups = {{"3000\n", ""}}}) == 3000u);
}

TEST_CASE("what a control group may take is in memory or in swap", "[core]") {
  CHECK(free_memory({.meminfo = "SwapFree: 1 kB\n", .groups = {{"3000\n", "anon 900\n"}}}) == 2100u + 1024u);
  CHECK(free_memory({.meminfo = "SwapFree: 1 kB\n", .groups = {{"18446744073709551615\n", ""}}}) == ~std::uint64_t{0});
}

TEST_CASE("a limit of the address space limits the memory that is free", "[core]") {
  CHECK(free_memory({.meminfo = "MemAvailable: 5000 kB\n", .address_space = 10000, .used_address_space = 4000}) == 6000u);
  CHECK(free_memory({.address_space = 10000, .used_address_space = 12000}) == 0u);
}

TEST_CASE("more memory than is free is refused with what is wanted and what is free, and less is not", "[core]") {
  CHECK_NOTHROW(require_memory(1, "a byte"));
  CHECK_THROWS_AS(require_memory(1e30, "a galaxy"), ConfigError);
  CHECK_THROWS_WITH(require_memory(1e15, "a star"), contains_text("a star needs 1000TB of memory, "));
}
