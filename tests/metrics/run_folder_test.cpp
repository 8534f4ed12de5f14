#include "metrics/run_folder.hpp"

#include <unistd.h>

#include <filesystem>
#include <limits>
#include <sstream>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "full_disk.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::test;
using metrics::EventFile;
using metrics::RunFolder;
using Existing = metrics::RunFolder::Existing;
namespace fs = std::filesystem;

TEST_CASE("a run folder is made with the folders above it", "[metrics]") {
  const TemporaryFolder folder;
  const RunFolder run(folder.file("a/b/run"), Existing::refuse);
  CHECK(fs::is_directory(folder.file("a/b/run")));
  CHECK(run.file("x") == folder.file("a/b/run/x"));
}

TEST_CASE("a folder that holds a run is refused unless it may be overwritten", "[metrics]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  {
    RunFolder run(path, Existing::refuse);
    run.write("config.toml", "first = 1\n");
    run.record({{"epoch", 1}});
    write_text(path + "/checkpoint.h5", "weights");
    for (const char* name : {"manifest.json", "timeline.json", "order.txt", "state"}) write_text(path + "/" + name, "old");
    write_text(path + "/notes.txt", "mine");
  }
  REQUIRE_THROWS_AS(RunFolder(path, Existing::refuse), core::ConfigError);
  REQUIRE_THROWS_WITH(RunFolder(path, Existing::refuse), contains_text(path) && contains_text("`overwrite`"));
  CHECK(read_text(path + "/config.toml") == "first = 1\n");  // the refusal has touched nothing
  CHECK(read_text(path + "/metrics.jsonl") == "{\"epoch\":1}\n");
  CHECK(read_text(path + "/checkpoint.h5") == "weights");

  RunFolder again(path, Existing::replace);
  again.write("config.toml", "second = 2\n");
  CHECK(read_text(path + "/config.toml") == "first = 1\n");  // until the new run begins
  CHECK(read_text(path + "/checkpoint.h5") == "weights");
  again.begin();
  CHECK(read_text(path + "/config.toml") == "second = 2\n");
  for (const char* name : {"checkpoint.h5", "manifest.json", "timeline.json", "order.txt", "state"})
    CHECK_FALSE(fs::exists(path + "/" + name));
  CHECK(read_text(path + "/metrics.jsonl").empty());
  CHECK(read_text(path + "/notes.txt") == "mine");  // what is not a run's stays
}

TEST_CASE("a run that ended before it had results does not refuse another in its folder", "[metrics]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  const auto begin = [&](const std::string& config) {
    RunFolder run(path, Existing::refuse);
    run.write("config.toml", config);
    run.write("manifest.json", "{}");
    run.begin();
  };
  begin("first = 1\n");
  begin("second = 2\n");
  CHECK(read_text(path + "/config.toml") == "second = 2\n");
  const std::string result = GENERATE("metrics.jsonl", "checkpoint.h5", "state");
  write_text(path + "/" + result, "something");
  CHECK_THROWS_WITH(begin("third = 3\n"), contains_text("already contains a run"));
}

TEST_CASE("a configuration alone, which the user may have written, is not replaced", "[metrics]") {
  const TemporaryFolder folder;
  write_text(folder.file("config.toml"), "mine = 1\n");
  CHECK_THROWS_WITH(RunFolder(folder.path(), Existing::refuse), contains_text("already contains a run"));
}

TEST_CASE("a search's folder cannot hold a run, too", "[metrics]") {
  const TemporaryFolder folder;
  write_text(folder.file("search.json"), "{}");
  const auto existing = GENERATE(Existing::refuse, Existing::replace, Existing::continue_it);
  CHECK_THROWS_WITH(RunFolder(folder.path(), existing), contains_text("contains a search"));
}

TEST_CASE("a folder that cannot be made is the user's to mend", "[metrics]") {
  const TemporaryFolder folder;
  write_text(folder.file("file"), "in the way");
  CHECK_THROWS_AS(RunFolder(folder.file("file"), Existing::refuse), core::ConfigError);
  CHECK_THROWS_AS(RunFolder(folder.file("file/below"), Existing::refuse), core::ConfigError);
  CHECK_THROWS_AS(RunFolder("/proc/paragrad-run", Existing::refuse), core::ConfigError);
  CHECK(read_text(folder.file("file")) == "in the way");
}

TEST_CASE("a file is written whole or not at all", "[metrics]") {
  const TemporaryFolder folder;
  RunFolder run(folder.file("run"), Existing::refuse);
  run.begin();
  run.write("manifest.json", "old");
  run.write("manifest.json", "new");
  CHECK(read_text(run.file("manifest.json")) == "new");
  CHECK_FALSE(fs::exists(run.file("manifest.json.tmp")));

  SECTION("on a full disk the old content survives") {
    const test::FullDisk full;
    CHECK_THROWS_AS(run.write("manifest.json", std::string(100'000, 'x')), core::ConfigError);
    CHECK(read_text(run.file("manifest.json")) == "new");
  }
  SECTION("a folder in the place of the file is told, and nothing is left beside it") {
    fs::create_directories(run.file("config.toml/inside"));
    CHECK_THROWS_AS(run.write("config.toml", "text"), core::ConfigError);
    CHECK_FALSE(fs::exists(run.file("config.toml.tmp")));
  }
}

TEST_CASE("records are lines of valid JSON, there as soon as they are written", "[metrics]") {
  const TemporaryFolder folder;
  RunFolder run(folder.file("run"), Existing::refuse);
  run.record({{"epoch", 1}, {"loss", 0.1 + 0.2}, {"text", "quote \" newline \n"}});
  run.record({{"loss", std::numeric_limits<double>::quiet_NaN()}});  // JSON has no NaN: null
  run.record({{"path", "not UTF-8: \xff"}});
  std::istringstream lines(read_text(run.file("metrics.jsonl")));
  std::vector<core::Json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(core::Json::parse(line));
  REQUIRE(records.size() == 3);
  CHECK(records[0]["loss"].get<double>() == 0.1 + 0.2);
  CHECK(records[0].begin().key() == "epoch");
  CHECK(records[1]["loss"].is_null());
}

TEST_CASE("a record that does not fit on the disk is told", "[metrics]") {
  const TemporaryFolder folder;
  RunFolder run(folder.file("run"), Existing::refuse);
  run.begin();
  const test::FullDisk full;
  CHECK_THROWS_AS(run.record({{"epoch", 1}}), core::ConfigError);
}

TEST_CASE("links that lie in a folder lead to no other file", "[metrics]") {
  const TemporaryFolder folder;
  const std::string victim = folder.file("victim");
  const bool hard = GENERATE(false, true);
  for (const char* name : {"metrics.jsonl", "manifest.json", "manifest.json.tmp", ".lock", EventFile::name}) {
    CAPTURE(name, hard);
    write_text(victim, "unchanged");
    fs::remove_all(folder.file("run"));
    fs::create_directories(folder.file("run"));
    hard ? fs::create_hard_link(victim, folder.file("run") + "/" + name)
         : fs::create_symlink(victim, folder.file("run") + "/" + name);
    try {
      RunFolder run(folder.file("run"), Existing::refuse);
      run.add_event_file({}, EventFile::Clock::simulated);
      run.record({{"epoch", 1}, {"samples", 1}, {"time_s", 1}});
      run.write("manifest.json", "new");
      CHECK(read_text(run.file("manifest.json")) == "new");
    } catch (const core::ConfigError& error) {
      CHECK_THAT(std::string(error.what()), contains_text("link"));
    }
    CHECK(read_text(victim) == "unchanged");
  }
}

TEST_CASE("a run that is continued keeps the records up to a mark and drops those after it", "[metrics]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  RunFolder::Mark mark;
  {
    RunFolder run(path, Existing::refuse);
    run.record({{"epoch", 1}});
    run.record({{"epoch", 2}});
    mark = run.sync();
    run.record({{"epoch", 3}});
  }
  const std::string whole = read_text(path + "/metrics.jsonl");
  const auto resumed = [&](const std::string& content) {
    write_text(path + "/metrics.jsonl", content);
    RunFolder run(path, Existing::continue_it);
    run.keep_records(mark);
    run.record({{"epoch", 3}});
    return read_text(path + "/metrics.jsonl");
  };
  CHECK(resumed(whole) == whole);
  CHECK(resumed(whole.substr(0, whole.size() - 3)) == whole);  // killed in the middle of a line
  CHECK(resumed("{\"epoch\":1}\n{\"epoch\":2}\n") == whole);
  const std::string changed = GENERATE("", "{\"epoch\":1}\n", "{\"epoch\":1}\n{\"epoch\":2}",
                                       "{\"epoch\":1}\n{\"epoch\":7}\n", "{\"epoch\":2}\n{\"epoch\":1}\n", "garbage\n\n");
  CAPTURE(changed);
  CHECK_THROWS_WITH(resumed(changed), contains_text("metrics.jsonl' does not contain the 2 records"));
  CHECK(read_text(path + "/metrics.jsonl") == changed);  // the refusal has touched nothing
}

TEST_CASE("a run folder belongs to one process at a time", "[metrics]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  {
    const RunFolder run(path, Existing::refuse);
    const auto existing = GENERATE(Existing::refuse, Existing::replace, Existing::continue_it);
    CHECK_THROWS_WITH(RunFolder(path, existing),
                      contains_text(path) && contains_text("in use by process " + std::to_string(::getpid()) + " on "));
  }
  CHECK_FALSE(fs::exists(path + "/.lock"));
  write_text(path + "/.lock", "process 1 on a host that was switched off");
  CHECK_NOTHROW(RunFolder(path, Existing::refuse));
}
