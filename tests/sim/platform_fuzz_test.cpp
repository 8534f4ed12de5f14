// Damaged platform files: each is a platform on which messages travel, or refused (tests/fuzz.hpp).
#include <filesystem>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "every_key.hpp"
#include "fuzz.hpp"
#include "mutations.hpp"
#include "sim/simulation.hpp"
#include "system/files.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::sim;

namespace {

/// The platforms of the tree, and one with every key.
std::vector<std::string> platform_texts() {
  std::vector<std::string> texts{platform_with_every_key, platform_with_every_key};
  for (const auto& entry : std::filesystem::directory_iterator(PARAGRAD_SOURCE "/sim/platforms"))
    texts.push_back(system::read_text(entry.path().string()));
  std::ranges::sort(texts);  // a folder has no order
  return texts;
}

/// A message goes from one worker to another and back; a device, link or switch may die meanwhile.
void send_there_and_back(const Platform& platform) {
  const auto body = [](EmulatedWorker& worker) {
    constexpr int tag = 1;
    std::vector<float> values(300'000, static_cast<float>(worker.rank()));
    if (worker.rank() == 1) worker.comm().receive(0, tag, std::span(values));
    worker.comm().send(1 - worker.rank(), tag, std::span<const float>(values));
    if (worker.rank() == 0) worker.comm().receive(1, tag, std::span(values));
    CHECK(values.back() == 0);
  };
  try {
    const double end_s = run(platform, 2, {}, body).makespan_s;
    CHECK(end_s > 0);
  } catch (const comm::Failure&) {
  }
}

}  // namespace

TEST_CASE("damaged platform files", "[sim][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("platform.toml");
  const std::vector<std::string> texts = platform_texts();
  constexpr std::array<std::string_view, 20> words{
      "[",        "]",       "[[fault]]\n", "[cluster]\n", "\"",  "=",    "\n",      "0",
      "-1",       "9999999", "1e18",        "nan",         "inf", "true", "\"1ps\"", "\"999999TBps\"",
      "\"1e6s\"", "{}",      "nodes = 3\n", "[[[[[[[["};
  const auto damaged = [&](std::size_t input) { return test::mutated(texts[input % texts.size()], input, words); };
  test::survive(test::fuzz_inputs(), damaged, [&](const std::string& text) {
    test::write_text(path, text);
    const Platform platform = read_platform(path);
    CHECK(platform.workers() >= 1);
    CHECK(platform.leaves() >= 1);
    CHECK(platform.sockets_per_node <= platform.devices_per_node);
    if (platform.workers() > 1 && platform.workers() < 10'000 && text.size() % 16 == 0) send_there_and_back(platform);
  });
}
