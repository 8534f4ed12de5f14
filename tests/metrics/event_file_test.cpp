#include "metrics/event_file.hpp"

#include <filesystem>
#include <limits>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "full_disk.hpp"
#include "metrics/crc32c.hpp"
#include "metrics/protobuf.hpp"
#include "metrics/run_folder.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::test;
using metrics::EventFile;
using metrics::ProtobufMessage;
using metrics::RunFolder;
using Existing = metrics::RunFolder::Existing;
namespace fs = std::filesystem;

namespace {

const metrics::Hyperparameters options{{"learning-rate", 0.1}, {"strategy", "bmuf"}};

core::Json epoch(int number, double loss) {
  return {{"epoch", number}, {"samples", 500 * number}, {"train_loss", loss}, {"time_s", 0.5 * number}};
}

core::Json pretraining_epoch(int layer, int number) {
  return {{"epoch", number}, {"samples", 500 * number}, {"layer", layer}, {"time_s", 0.25 * number}};
}

core::Json end(double loss) { return {{"end", true}, {"samples", 1000}, {"test_loss", loss}, {"training_s", 1.0}}; }

/// What an event file without interruptions holds.
std::string written(const std::vector<core::Json>& records) {
  const TemporaryFolder folder;
  EventFile file(folder.file("events"), options, EventFile::Clock::simulated);
  for (const core::Json& record : records) file.add(record);
  return read_text(folder.file("events"));
}

}  // namespace

TEST_CASE("CRC-32C is that of RFC 3720, appendix B.4", "[metrics]") {
  using namespace std::string_literals;
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  for (int i = 31; i >= 0; --i) descending += static_cast<char>(i);
  const std::string read_command =  // of iSCSI
      "\x01\xc0\0\0"
      "\0\0\0\0"
      "\0\0\0\0"
      "\0\0\0\0"
      "\x14\0\0\0"
      "\0\0\x04\0"
      "\0\0\0\x14"
      "\0\0\0\x18"
      "\x28\0\0\0"
      "\0\0\0\0"
      "\x02\0\0\0"
      "\0\0\0\0"s;
  CHECK(metrics::crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(metrics::crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(metrics::crc32c(ascending) == 0x46dd794e);
  CHECK(metrics::crc32c(descending) == 0x113fdb5c);
  CHECK(metrics::crc32c(read_command) == 0xd9963a56);
  CHECK(metrics::crc32c("123456789") == 0xe3069283);
  CHECK(metrics::crc32c("") == 0);
}

TEST_CASE("messages have the bytes of protocol buffers' own examples", "[metrics]") {
  using namespace std::string_literals;
  CHECK(ProtobufMessage().integer(1, 150).bytes() == "\x08\x96\x01");
  CHECK(ProtobufMessage().text(2, "testing").bytes() == "\x12\x07testing");
  CHECK(ProtobufMessage().message(3, ProtobufMessage().integer(1, 150)).bytes() == "\x1a\x03\x08\x96\x01");
  CHECK(ProtobufMessage().integer(1, -2).bytes() == "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  CHECK(ProtobufMessage().float64(1, 1).bytes() == "\x09\0\0\0\0\0\0\xf0\x3f"s);
  CHECK(ProtobufMessage().float32(2, 1).bytes() == "\x15\0\0\x80\x3f"s);
  CHECK(ProtobufMessage().integer(16, 0).bytes() == "\x80\x01\0"s);
}

TEST_CASE("an event file begins as TensorFlow's do", "[metrics]") {
  using namespace std::string_literals;
  const std::string file = written({});
  CHECK(file.substr(0, 12) == "\x18\0\0\0\0\0\0\0\xa3\x7fK\""s);  // 24 bytes follow
  CHECK(file.substr(12, 9) == "\x09\0\0\0\0\0\0\0\0"s);
  CHECK(file.substr(21, 15) ==
        "\x1a\x0d"
        "brain.Event:2");
}

TEST_CASE("an event file that is taken up behind some records holds nothing twice", "[metrics]") {
  const TemporaryFolder folder;
  RunFolder run(folder.file("run"), Existing::refuse);
  run.add_event_file(options, EventFile::Clock::simulated);
  const std::string path = run.file(EventFile::name);
  for (const core::Json& record : {pretraining_epoch(1, 1), pretraining_epoch(2, 1), epoch(1, 3)}) run.record(record);
  const RunFolder::Mark mark = run.sync();
  run.record(epoch(2, 2));
  run.keep_records(mark);
  CHECK(read_text(path) == written({pretraining_epoch(1, 1), pretraining_epoch(2, 1), epoch(1, 3)}));
  run.record(epoch(2, 1));
  run.record(end(4));
  CHECK(read_text(path) == written({pretraining_epoch(1, 1), pretraining_epoch(2, 1), epoch(1, 3), epoch(2, 1), end(4)}));
}

TEST_CASE("a run that is continued may have an event file from then on, or no longer", "[metrics]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  RunFolder::Mark mark;
  {
    RunFolder run(path, Existing::refuse);
    run.record(epoch(1, 3));
    mark = run.sync();
  }
  {
    RunFolder again(path, Existing::continue_it);
    again.add_event_file(options, EventFile::Clock::simulated);
    again.keep_records(mark);
    CHECK(read_text(again.file(EventFile::name)) == written({epoch(1, 3)}));
  }
  const RunFolder without(path, Existing::continue_it);
  CHECK_FALSE(fs::exists(without.file(EventFile::name)));
}

TEST_CASE("what is no number is left out, and a text that is not UTF-8 mended", "[metrics]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(written({epoch(1, nan)}) == written({{{"epoch", 1}, {"samples", 500}, {"train_loss", nullptr}, {"time_s", 0.5}}}));
  CHECK(written({epoch(1, nan)}).find("train_loss") == std::string::npos);
  const TemporaryFolder folder;
  EventFile(folder.file("events"), {{"data", "not UTF-8: \xff"}}, EventFile::Clock::simulated);
  CHECK(read_text(folder.file("events")).find("not UTF-8: \xef\xbf\xbd") != std::string::npos);
}

TEST_CASE("an event file that does not fit on the disk is told", "[metrics]") {
  const TemporaryFolder folder;
  const test::FullDisk full;
  CHECK_THROWS_AS(EventFile(folder.file("events"), options, EventFile::Clock::simulated), core::ConfigError);
}
