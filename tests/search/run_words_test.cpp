#include "search/run_words.hpp"

#include <set>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace paragrad;
using Words = std::vector<std::string>;

TEST_CASE("a run of a search is given its configuration and what the search sets", "[search]") {
  search::SearchPlan plan;
  plan.command = "train";
  const search::Values values{{"learning-rate", "0.5"}, {"init", "model-{seed}.h5"}};
  CHECK(search::words_of_run(plan, values, 7, "f/001-s7", false) ==
        Words{"train", "--init=model-7.h5", "--learning-rate=0.5", "--seed=7", "--out=f/001-s7", "--overwrite=true",
              "--quiet=true"});
  CHECK(search::words_of_run(plan, {}, 1, "f/001-s1", true) ==
        Words{"train", "--out=f/001-s1", "--resume=true", "--quiet=true"});
}

TEST_CASE("runs of a search that are paused save their state as their configuration says, or after each epoch", "[search]") {
  search::SearchPlan plan;
  plan.pauses = true;
  plan.host_threads = 3;
  const auto words = [&](const search::Values& values) {
    const Words all = search::words_of_run(plan, values, 1, "f", false);
    return std::set(all.begin(), all.end());
  };
  CHECK(words({}).contains("--checkpoint-every=100000000"));
  CHECK(words({}).contains("--host-threads=3"));
  CHECK(words({{"checkpoint-every", "2"}}).contains("--checkpoint-every=2"));
  CHECK_FALSE(words({{"checkpoint-every", "2"}}).contains("--checkpoint-every=100000000"));
}

TEST_CASE("what a search sets is not for its file", "[search]") {
  CHECK(search::options_set_by_search() ==
        std::set<std::string>{"host-threads", "out", "overwrite", "quiet", "resume", "seed"});
}
