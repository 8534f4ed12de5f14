// The sections [[kernel]] of a platform file.
#include "catch.hpp"
#include "core/errors.hpp"
#include "sim/platform.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::sim;

namespace {

const std::string head = R"([cluster]
nodes = 1
devices_per_node = 2
[device]
peak = "100GFLOPs"
memory_bandwidth = "10GBps"
gemm_efficiency = 0.6
memory_efficiency = 1
launch = "0us"
[peer]
latency = "1us"
bandwidth = "6GBps"
[message]
eager = "64kB"
)";

const std::string tables = R"([[kernel]]
name = "affine_forward"
batch = [1, 64]
inputs = [10]
outputs = [10, 100, 1000]
time = ["1us", "2us", "3us", "4us", "5us", "6us"]
[[kernel]]
name = "add"
bytes = ["1kB", "1MB"]
time = ["100ns", "50us"]
)";

Platform read(const std::string& text) {
  const test::TemporaryFolder folder;
  test::write_text(folder.file("measured.toml"), text);
  return read_platform(folder.file("measured.toml"));
}

std::string complaint_about(const std::string& part, const std::string& instead) {
  std::string text = head + tables;
  const auto at = text.find(part);
  REQUIRE(at != text.npos);
  text.replace(at, part.size(), instead);
  try {
    read(text);
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("measured times are read with their sizes", "[sim]") {
  const Platform platform = read(head + tables);
  REQUIRE(platform.device.kernels.size() == 2);
  const KernelTable& product = platform.device.kernels[0];
  CHECK(product.kernel == "affine_forward");
  CHECK(product.seconds({64, 10, 100}) == Approx(5e-6));
  const KernelTable& add = platform.device.kernels[1];
  CHECK(add.sizes[0] == std::vector<double>{1000, 1'000'000});
  CHECK(add.seconds({1000, 1, 1}) == Approx(100e-9));
  CHECK(read(head).device.kernels.empty());
}

TEST_CASE("a mistake in measured times is told with its key", "[sim]") {
  CHECK_THAT(complaint_about("\"affine_forward\"", "\"afine_forward\""), contains_text("kernel[0].name: 'afine_forward'"));
  CHECK_THAT(complaint_about("\"add\"\nbytes", "\"add\"\nelements"), contains_text("kernel[1].bytes: is missing"));
  CHECK_THAT(complaint_about("[1, 64]", "[]"), contains_text("kernel[0].batch: must be a list"));
  CHECK_THAT(complaint_about("[1, 64]", "[64, 1]"), contains_text("must rise"));
  CHECK_THAT(complaint_about("[1, 64]", "[0, 64]"), contains_text("whole numbers from 1"));
  CHECK_THAT(complaint_about("[1, 64]", "[1.5, 64]"), contains_text("whole numbers"));
  CHECK_THAT(complaint_about("\"6us\"", "\"0us\""), contains_text("kernel[0].time: '0us' is outside"));
  CHECK_THAT(complaint_about(", \"6us\"", ""), contains_text("5 times for 6 points"));
  CHECK_THAT(complaint_about("\"6us\"", "\"4.5us\""), contains_text("time 6 is shorter"));
  CHECK_THAT(complaint_about("\"100ns\"", "\"100\""), contains_text("is not a time"));
  CHECK_THAT(complaint_about("name = \"add\"", "name = \"affine_forward\""), contains_text("already has a table"));
  CHECK_THAT(complaint_about("name = \"add\"", "name = \"add\"\ncolour = 3"), contains_text("kernel[1].colour"));
}
