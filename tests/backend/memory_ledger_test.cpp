#include "backend/memory_ledger.hpp"

#include <array>

#include "catch.hpp"

using namespace paragrad;

TEST_CASE("a ledger tells how many devices there is room for, going by the one that needs most", "[backend]") {
  backend::MemoryLedger ledger;
  const std::array<char, 4> device{}, address{};
  CHECK(ledger.room(&device[0], 0, 1000) == 0);     // nobody needs anything
  CHECK(ledger.room(&device[0], 300, 1000) == 3);   // the first
  CHECK(ledger.room(&device[0], 1001, 1000) == 0);  // not even that one
  ledger.took(&device[0], &address[0], 300);
  ledger.took(&device[0], &address[1], 100);
  ledger.took(&device[1], &address[2], 250);
  CHECK(ledger.room(&device[1], 200, 50) == 1);  // of 700 in all, 450 each
  CHECK(ledger.room(&device[1], 50, 150) == 2);  // of 800, 400 each
  CHECK(ledger.room(&device[2], 10, 550) == 3);  // of 1200
  ledger.gave_back(&address[0]);
  ledger.gave_back(&address[0]);                // which it has no more
  CHECK(ledger.room(&device[1], 0, 400) == 3);  // of 750, 250 each
  ledger.gave_back(&address[1]);
  ledger.gave_back(&address[2]);
  CHECK(ledger.room(&device[3], 100, 250) == 2);
}

TEST_CASE("a ledger tells whether an address lies in what was taken", "[backend]") {
  backend::MemoryLedger ledger;
  const std::array<char, 100> memory{};
  const char device = 0;
  CHECK_FALSE(ledger.holds(&memory[0]));
  ledger.took(&device, &memory[10], 20);
  ledger.took(&device, &memory[50], 1);
  for (const int place : {10, 29, 50}) CHECK(ledger.holds(&memory[static_cast<std::size_t>(place)]));
  for (const int place : {9, 30, 49, 51}) CHECK_FALSE(ledger.holds(&memory[static_cast<std::size_t>(place)]));
  ledger.gave_back(&memory[10]);
  CHECK_FALSE(ledger.holds(&memory[10]));
  CHECK(ledger.holds(&memory[50]));
}
