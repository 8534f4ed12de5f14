#include "runs/run_options.hpp"

#include <set>
#include <string>

#include "catch.hpp"
#include "core/options.hpp"

using namespace paragrad;
using core::OptionMark;
using Names = std::set<std::string>;

TEST_CASE("what runs are compared, resumed and predicted by is marked in the descriptions of options", "[app]") {
  CHECK(runs::options_with(OptionMark::observes) == Names{"checkpoint-every", "host-threads", "out", "quiet", "record",
                                                          "sync-stats", "tensorboard", "timeline", "timeline-events"});
  CHECK(runs::options_with(OptionMark::unpredicted) == Names{"data", "device", "init", "keep-best", "seed"});
  CHECK(runs::options_with(OptionMark::rescalable) == Names{"block-learning-rate", "block-momentum",
                                                            "block-momentum-time-constant", "learning-rate", "lr-per-sample",
                                                            "minibatch", "workers"});
  CHECK(runs::options_with(OptionMark::tabled) ==
        Names{"blocks", "bmuf-kind", "epochs", "partition", "splits", "strategy", "workers"});
  CHECK(runs::options_with(OptionMark::of_one_rank) == Names{"quiet"});
}

TEST_CASE("of a config.toml the options are read that determine the run", "[app]") {
  const std::string config("# of a run\nout=\"runs/one\"\nseed = 3\nhost-threads=2\nmodel=\"2-2\"\n");
  CHECK(runs::options_in(config) == runs::RunOptions{{"seed", " 3"}, {"model", "\"2-2\""}});
}

TEST_CASE("the values of described options are those that make the same option again", "[app]") {
  struct Options {
    double time_s = 1;

    void describe(core::OptionList& list) { list.quantity("time", time_s, core::Unit::time, "a time"); }
  };
  for (const double time : {0.1 + 0.2, 5400.0001, 1e-12 / 3, 86400 * 40.}) {
    Options given{time}, read;
    core::OptionList now, again;
    given.describe(now);
    read.describe(again);
    again.read({{"time", now.infos()[0].value}});
    CHECK(read.time_s == time);
  }
}
