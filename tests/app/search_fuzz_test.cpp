// Damaged files of a search and of its runs (tests/fuzz.hpp).
#include <filesystem>

#include "catch.hpp"
#include "core/json.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "search/search_identity.hpp"
#include "search/search_runs.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
namespace fs = std::filesystem;

TEST_CASE("damaged files of the runs of a search", "[app][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string run = folder.file("001-s1");
  fs::create_directory(run);
  const search::SearchRuns runs({.folder = folder.path(), .configurations = {{}}, .seeds = {1}},
                                [](const auto&, const auto&) {});
  const std::string records =
                        "{\"epoch\":1,\"phase\":0}\n{\"epoch\":1,\"valid_error\":0.5}\n{\"epoch\":2,\"valid_error\":0.25}\n",
                    manifest = R"({"finished":"2026-01-01","result":{"epochs":2,"valid_error":0.25}})";
  struct Files {
    std::string records, manifest;
    std::size_t size() const { return records.size() + manifest.size(); }
  };
  const auto damaged = [&](std::size_t input) {
    if (input % 2 == 0) return Files{test::mutated(records, input, test::json_words), input % 4 == 0 ? "" : manifest};
    return Files{records, test::mutated(manifest, input, test::json_words)};
  };
  const auto read = [&](const Files& files) {
    test::write_text(run + "/metrics.jsonl", files.records);
    test::write_text(run + "/manifest.json", files.manifest);
    for (const int epoch : {0, 1, 2, 3}) {
      const search::RunRecord record = runs.record(0, 1, epoch);
      CHECK((record.epoch == 0 || record.values.is_object()));
    }
  };
  test::survive(test::fuzz_inputs(2), damaged, read, test::as_objects);
  CHECK_NOTHROW(read({records, manifest}));
  CHECK_NOTHROW(read({"{\"epoch\":\"two\"}\n[1]\n", ""}));
  CHECK_THROWS_WITH(read({records, R"({"finished":"2026-01-01"})"}), contains_text("manifest.json' is damaged"));
}

TEST_CASE("damaged descriptions of a search", "[app][fuzz]") {
  const test::TemporaryFolder folder;
  const core::Json identity{{"command", "simulate"}, {"options", "epochs = 2\n"}, {"seeds", {1, 2}}, {"draws", 1}};
  const std::string text = core::text_of(identity, 1) + "\n";
  const auto read = [&](const std::string& damaged) {
    test::write_text(folder.file("search.json"), damaged);
    search::check_same_search(folder.path(), identity, "search.toml");
  };
  test::survive(
      test::fuzz_inputs(),
      [&](std::size_t input) { return test::mutated(text + std::string(20, ' '), input, test::json_words); }, read,
      test::as_objects);
  CHECK_NOTHROW(read(text));
  CHECK_THROWS_WITH(read("[]"), contains_text("holds another search"));
}
