#include "train/state/progress_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/format.hpp"
#include "system/file_replacement.hpp"
#include "system/output_file.hpp"
#include "train/state/state_store.hpp"

namespace paragrad::train {
namespace {

std::string progress_file(const std::string& state_folder) { return state_folder + "/progress.txt"; }

}  // namespace

void note_position(const std::string& state_folder, const RunPosition& position) {
  std::error_code ignored;  // writing finds out
  system::create_folders(state_folder, ignored);
  system::OutputFile(progress_file(state_folder), system::OutputFile::Begin::empty)
      .write(core::format("{} {} {} {}\n", position.phase, position.epoch, position.block, position.blocks));
}

std::optional<LostWork> lost_work(const std::string& state_folder) {
  RunPosition reached;
  if (!std::filesystem::is_regular_file(progress_file(state_folder))) return std::nullopt;
  std::ifstream file(progress_file(state_folder));
  if (!(file >> reached.phase >> reached.epoch >> reached.block >> reached.blocks) || reached.epoch < 1) return std::nullopt;
  const auto done = [&](const RunPosition& at) {
    return static_cast<std::size_t>(at.epoch - 1) * reached.blocks + at.block;
  };
  const auto saved = StateStore::saved_position(state_folder);
  const RunPosition from = saved && saved->phase == reached.phase ? *saved : RunPosition{.phase = reached.phase};
  return LostWork{from, done(reached) - std::min(done(from), done(reached))};
}

}  // namespace paragrad::train
