// Damaged records of an interrupted run (tests/fuzz.hpp).
#include "catch.hpp"
#include "core/json.hpp"
#include "fuzz.hpp"
#include "metrics/run_folder.hpp"
#include "mutations.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using metrics::RunFolder;

TEST_CASE("damaged records of a run", "[metrics][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("run"), records = path + "/metrics.jsonl";
  RunFolder::Mark mark;
  std::string kept;
  {
    RunFolder run(path, RunFolder::Existing::refuse);
    for (int epoch = 1; epoch <= 4; ++epoch) {
      run.record({{"epoch", epoch}, {"samples", 100 * epoch}, {"time_s", epoch}, {"train_loss", 0.5 / epoch}});
      if (epoch != 2) continue;
      mark = run.sync();
      kept = test::read_text(records);
    }
  }
  const std::string text = test::read_text(records);
  const auto read = [&](const std::string& damaged) {
    test::write_text(records, damaged);
    RunFolder run(path, RunFolder::Existing::continue_it);
    run.add_event_file({}, metrics::EventFile::Clock::simulated);
    run.keep_records(mark);
    CHECK(test::read_text(records) == kept);
  };
  test::survive(
      test::fuzz_inputs(2), [&](std::size_t input) { return test::mutated(text, input); }, read);
  CHECK_NOTHROW(read(text));
}
