// Damaged orders of asynchronous runs (tests/fuzz.hpp).
#include "catch.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "strategies/parameter_server/order.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::strategies;

TEST_CASE("damaged orders of runs", "[strategies][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("order.txt");
  Orders orders{{{"workers", "2"}, {"minibatch", "16"}}, {{}, {}}};
  for (int i = 0; i < 20; ++i)
    orders.servers[0].push_back({i % 3 == 0 ? Event::Kind::fetch : Event::Kind::push, i % 2, static_cast<std::uint64_t>(i)});
  orders.servers[1] = {{Event::Kind::take, 1, 7}, {Event::Kind::meet, 0, 0}};
  write_orders(path, orders);
  const std::string text = test::read_text(path);
  constexpr std::array<std::string_view, 14> words{
      "p0@1",     "x1@0",          "@", " ", "\n", "-1", "99999999999999999999", "[", "{", "\"", "null",
      "\"run\":", "\"servers\":3", ","};
  const auto read = [&](const std::string& damaged) {
    test::write_text(path, damaged);
    const Orders found = read_orders(path);
    for (const auto& events : found.servers) {  // happen again, as they were recorded
      Order order(&events);
      for (const Event& event : events) {
        if (order.admits(event.kind, event.worker)) order.note(event);
      }
      CHECK(order.size() <= events.size());
    }
  };
  test::survive(
      test::fuzz_inputs(), [&](std::size_t input) { return test::mutated(text, input, words); }, read, test::as_objects);
  CHECK_NOTHROW(read(text));
}
