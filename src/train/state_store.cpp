#include "train/state_store.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/format.hpp"
#include "core/json.hpp"

namespace paragrad::train {
namespace fs = std::filesystem;
namespace {

std::string pointer_of(const std::string& folder) { return folder + "/latest.json"; }

core::Json read_pointer(const std::string& folder) {
  std::ifstream in(pointer_of(folder));
  core::Json pointer = core::Json::parse(in, nullptr, false);
  if (pointer.is_discarded() || !pointer.contains("set") || !pointer.contains("workers") || !pointer.contains("phase"))
    throw core::ConfigError(core::format("'{}' is damaged", pointer_of(folder)));
  return pointer;
}

/// What each worker does with files; a mistake of one is everybody's.
void together(comm::Communicator& comm, const std::function<void()>& action) {
  std::string mistake;
  try {
    action();
  } catch (const core::ConfigError& error) {
    mistake = error.what();
  } catch (const fs::filesystem_error& error) {
    mistake = error.what();
  }
  if (const std::string first = comm::first_error(comm, mistake); !first.empty()) throw core::ConfigError(first);
}

}  // namespace

bool StateStore::exists(const std::string& folder) { return fs::exists(pointer_of(folder)); }

std::string StateStore::file_of(const std::string& name) const {
  return core::format("{}/{}/worker-{:05}.h5", folder_, name, worker_.rank());
}

void StateStore::save(const SavedState& state, const std::string& name, int phase) {
  together(worker_.comm(), [&] {
    fs::create_directories(fs::path(folder_) / name);
    state.write(file_of(name));
  });
  together(worker_.comm(), [&] {
    if (worker_.rank() == 0) point_to(name, phase);
  });
}

// Sets that are not the latest any more, and those that never were, can go.
void StateStore::point_to(const std::string& name, int phase) const {
  core::replace_file(pointer_of(folder_), [&](std::ostream& out) {
    out << core::Json{{"set", name}, {"workers", worker_.size()}, {"phase", phase}}.dump() << "\n";
  });
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.is_directory() && entry.path().filename() != name) fs::remove_all(entry.path());
}

int StateStore::phase_in(const std::string& folder) { return exists(folder) ? int{read_pointer(folder)["phase"]} : 0; }

std::string StateStore::latest() const {
  const core::Json pointer = read_pointer(folder_);
  if (const int workers = pointer["workers"]; workers != worker_.size())
    throw core::ConfigError(
        core::format("'{}' was left by {} workers and cannot be taken up by {}: each has a part of the state", folder_,
                     workers, worker_.size()));
  return pointer["set"];
}

SavedState StateStore::load() {
  SavedState state;
  together(worker_.comm(), [&] { state = SavedState::read(file_of(latest())); });
  return state;
}

void StateStore::clear() {
  comm::barrier(worker_.comm());
  if (worker_.rank() == 0) fs::remove_all(folder_);
}

}  // namespace paragrad::train
