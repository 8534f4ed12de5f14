// Damaged files of finished runs (tests/fuzz.hpp).
#include <filesystem>

#include "catch.hpp"
#include "core/json.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "runs/finished_run.hpp"
#include "runs/prediction.hpp"
#include "runs/run_output.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
namespace fs = std::filesystem;

namespace {

std::string manifest_text(bool simulated) {
  core::Json result{{"epochs", 2}, {"samples", 1000}, {"parameters_sha256", "0123456789abcdef"}};
  for (const char* key : {"valid_error", "test_error", "training_s", "optimise_s", "aggregate_s", "validate_s", "sent_bytes",
                          "received_bytes", "messages", "exposed"})
    result[key] = 0.25;
  core::Json run{{"strategy", "bmuf"}, {"strategy_options", {{"bmuf-kind", "nbm"}}},
                 {"splits", 4},        {"blocks", 3},
                 {"workers", 4},       {"epochs", 2}};
  run["world"] = simulated ? "simulation" : "mpi";
  return core::text_of({{"run", run}, {"result", result}, {"finished", "2026-01-01"}}, 1);
}

}  // namespace

TEST_CASE("damaged manifests and configurations of finished runs", "[app][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string measured = folder.file("measured"), predicted = folder.file("predicted");
  for (const std::string& run : {measured, predicted}) {
    fs::create_directory(run);
    test::write_text(run + "/manifest.json", manifest_text(run == predicted));
  }
  const std::string config = "epochs = 2\n# a remark\nmodel=\"40-10\"\nlearning-rate=0.1\nseed=1\n";
  test::write_text(predicted + "/config.toml", config);
  struct Files {
    std::string manifest, config;
    std::size_t size() const { return manifest.size() + config.size(); }
  };
  const auto damaged = [&](std::size_t input) {
    if (input % 4 == 0) return Files{manifest_text(false), test::mutated(config, input)};
    return Files{test::mutated(manifest_text(false), input, test::json_words), config};
  };
  const auto read = [&](const Files& files) {
    test::write_text(measured + "/manifest.json", files.manifest);
    test::write_text(measured + "/config.toml", files.config);
    const std::vector<runs::FinishedRun> runs{runs::read_finished_run(measured), runs::read_finished_run(predicted)};
    for (const std::string& format : runs::comparison_formats())
      CHECK(!runs::comparison({runs[0].row, runs[1].row}, format).empty());
    CHECK((runs[0].shape == runs[1].shape || runs::predictions(runs).empty()));
    for (const auto& [key, value] : runs::options_of(measured)) CHECK(key.find('\n') == std::string::npos);
  };
  test::survive(test::fuzz_inputs(), damaged, read, test::as_objects);
  CHECK_NOTHROW(read({manifest_text(false), config}));
  core::Json timed_only = core::Json::parse(manifest_text(false));
  timed_only["result"]["optimise_s"] = nullptr;
  CHECK_NOTHROW(read({timed_only.dump(), config}));
  core::Json without_epochs = core::Json::parse(manifest_text(false));
  without_epochs["result"].erase("epochs");
  CHECK_THROWS_WITH(read({without_epochs.dump(), config}), contains_text("manifest.json' is damaged"));
  test::write_text(measured + "/manifest.json", manifest_text(false));
  CHECK(!runs::predictions(std::array{runs::read_finished_run(measured), runs::read_finished_run(predicted)}).empty());
}
