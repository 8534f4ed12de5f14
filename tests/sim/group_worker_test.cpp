#include "comm/wrappers/group_worker.hpp"

#include "catch.hpp"
#include "comm/allreduce.hpp"
#include "sim/simulation.hpp"

using namespace paragrad;

TEST_CASE("groups of workers that cross each other sum among themselves, in tasks too", "[group_worker]") {
  constexpr int rows = 3, columns = 4;  // worker = row * columns + column
  const std::string collective =
      GENERATE(std::string("ring"), std::string("butterfly"), std::string("tree"), std::string("parameter_server"));
  const bool in_task = GENERATE(false, true);
  std::vector<std::vector<float>> along(rows * columns), across(rows * columns);
  sim::run(rows * columns, [&](comm::Worker& worker) {
    const int row = worker.rank() / columns, column = worker.rank() % columns;
    comm::GroupWorker mine(worker, row * columns, 1, columns);
    comm::GroupWorker others(worker, column, columns, rows);
    const auto sum = [&](comm::GroupWorker& group, std::vector<float>& data) {
      data.assign(5, static_cast<float>(worker.rank()));
      const auto allreduce = comm::make_allreduce(collective);
      if (!in_task) return (*allreduce)(group.comm(), data);
      group.launch([&](comm::Communicator& comm) { (*allreduce)(comm, data); });
      group.join();
    };
    sum(mine, along[static_cast<std::size_t>(worker.rank())]);
    sum(others, across[static_cast<std::size_t>(worker.rank())]);
    REQUIRE(mine.rank() == column);
    REQUIRE(others.rank() == row);
    REQUIRE(others.size() == rows);
  });
  for (int rank = 0; rank < rows * columns; ++rank) {
    const int row = rank / columns, column = rank % columns;
    CHECK(along[static_cast<std::size_t>(rank)] == std::vector<float>(5, static_cast<float>(columns * row * columns + 6)));
    CHECK(across[static_cast<std::size_t>(rank)] ==
          std::vector<float>(5, static_cast<float>(rows * column + columns * (0 + 1 + 2))));
  }
}
