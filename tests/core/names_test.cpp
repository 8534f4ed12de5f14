#include "core/names.hpp"

#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace paragrad::core;

TEST_CASE("names that differ in case and separators are the same, and a parameter is no part of them", "[core]") {
  for (const char* name : {"--batch-size", "batch_size", "BatchSize", "batch_size:32", "batchsize[:K]"})
    CHECK(folded_name(name) == "batchsize");
}

TEST_CASE("the nearest name is the one that was mistyped or abbreviated, and none if all are far", "[core]") {
  const std::vector<std::string> known{"sgd", "bmuf", "data_parallel", "bits:K", "learning-rate", "learning-rate-per"};
  for (const auto& [typed, meant] : {std::pair{"bmfu", "bmuf"},
                                     {"sdg", "sgd"},
                                     {"SGD", "sgd"},
                                     {"dataparalel", "data_parallel"},
                                     {"bit:4", "bits:K"},
                                     {"learn", "learning-rate"},
                                     {"--learning_rat", "learning-rate"}})
    CHECK(nearest_name(typed, known) == meant);
  for (const char* typed : {"", "-", "s", "ddp", "horovod", "le"}) CHECK(nearest_name(typed, known).empty());
  CHECK(nearest_name(std::string(101, 's'), {std::string(101, 's') + "d"}).empty());
}
