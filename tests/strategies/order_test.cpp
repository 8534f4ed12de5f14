#include "strategies/parameter_server/order.hpp"

#include <fstream>

#include "catch.hpp"
#include "core/errors.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::strategies;
using Kind = Event::Kind;

namespace {

Orders some_orders() {
  Orders orders{{{"workers", "3"}, {"minibatch", "16"}}, {{}, {}, {}}};
  for (int i = 0; i < 100; ++i)
    orders.servers[0].push_back({i % 2 == 0 ? Kind::push : Kind::fetch, i % 3, std::uint64_t{1} << (i % 60)});
  orders.servers[2] = {{Kind::take, 2, 7}, {Kind::meet, 0, 0}};
  return orders;
}

std::string what_reading_says(const std::string& path) {
  try {
    read_orders(path);
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the order of a run comes back from its file as it was", "[strategies]") {
  const test::TemporaryFolder folder;
  const Orders orders = some_orders();
  write_orders(folder.file("order.txt"), orders);
  const Orders back = read_orders(folder.file("order.txt"));
  CHECK(back.shape == orders.shape);
  CHECK(back.servers == orders.servers);
}

TEST_CASE("files that are no order of a run are refused, whatever was cut off or changed", "[strategies]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("order.txt");
  write_orders(path, some_orders());
  std::string text;
  {
    std::ifstream in(path);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto put = [&](const std::string& content) { std::ofstream(path) << content; };
  for (std::size_t length = 0; length + 4 < text.size(); length += 37) {
    put(text.substr(0, length));
    CHECK_FALSE(what_reading_says(path).empty());
  }
  put("{\"format\":\"something\"}\n");
  CHECK(what_reading_says(path).find("does not hold the order of a run") != std::string::npos);
  put("{\"format\":\"paragrad-order\",\"version\":9}\n");
  CHECK(what_reading_says(path).find("format version 9") != std::string::npos);
  put("{\"format\":\"paragrad-order\",\"version\":1,\"servers\":1,\"run\":[[\"workers\"]]}\n0\n");
  CHECK(what_reading_says(path).find("damaged") != std::string::npos);
  put("{\"format\":\"paragrad-order\",\"version\":1,\"servers\":1}\n1\nq0@0\n");
  CHECK(what_reading_says(path).find("damaged") != std::string::npos);
  put("{\"format\":\"paragrad-order\",\"version\":1,\"servers\":1}\n2\np0@0 x1@4\n");
  CHECK(what_reading_says(path).find("lost worker 1") != std::string::npos);
  CHECK(what_reading_says(folder.file("none.txt")).find("cannot read") != std::string::npos);
}

TEST_CASE("a run of another shape is told in what it differs", "[strategies]") {
  const RunShape recorded{{"workers", "3"}, {"minibatch", "16"}};
  CHECK_NOTHROW(check_same_shape("order.txt", recorded, recorded));
  CHECK_THROWS_WITH(check_same_shape("order.txt", recorded, {{"workers", "4"}, {"minibatch", "16"}}),
                    contains_text("'order.txt'") && contains_text("with workers 3, not 4"));
}

TEST_CASE("an order that is given is kept, and one that cannot be kept is a mistake", "[strategies]") {
  const std::vector<Event> given{{Kind::push, 1, 0}, {Kind::push, 0, 0}, {Kind::fetch, 1, 2}, {Kind::push, 1, 2}};
  Order order(&given);
  CHECK(order.admits(Kind::push, 1));
  CHECK_FALSE(order.admits(Kind::push, 0));
  CHECK_THROWS_WITH(order.admits(Kind::fetch, 1), contains_text("worker 1 fetched parameters where it sent a gradient"));
  order.note(given[0]);
  CHECK_FALSE(order.admits(Kind::fetch, 1));
  CHECK(order.admits(Kind::push, 0));
  CHECK_THROWS_WITH(order.note({Kind::push, 0, 1}), contains_text("p0@1 came where p0@0 was recorded"));
  order.note(given[1]);
  CHECK_THROWS_WITH(order.admits(Kind::push, 0), contains_text("has ended for worker 0"));
  order.note(given[2]);
  order.note(given[3]);
  CHECK(order.events() == given);
  CHECK_THROWS_WITH(order.admits(Kind::fetch, 1), contains_text("has ended"));
}

TEST_CASE("what is fetched between the same changes may be fetched in any order, and is before the next change",
          "[strategies]") {
  const std::vector<Event> given{{Kind::fetch, 0, 0}, {Kind::take, 0, 0},  {Kind::fetch, 1, 0}, {Kind::take, 1, 1},
                                 {Kind::push, 1, 0},  {Kind::fetch, 1, 1}, {Kind::push, 0, 0}};
  Order order(&given);
  CHECK(order.admits(Kind::fetch, 1));
  order.note(given[2]);
  CHECK_FALSE(order.admits(Kind::take, 1));  // the split before is still there
  order.note(given[0]);
  order.note(given[1]);
  order.note(given[3]);
  CHECK(order.admits(Kind::push, 1));
  CHECK_FALSE(order.admits(Kind::push, 0));
  order.note(given[4]);
  CHECK_FALSE(order.admits(Kind::push, 0));  // worker 1 has not fetched yet
  order.note(given[5]);
  CHECK(order.admits(Kind::push, 0));
}
