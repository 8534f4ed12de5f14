#include "train/state/state_store.hpp"

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "comm/allreduce.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "system/file_replacement.hpp"
#include "system/files.hpp"
#include "train/state/rescale.hpp"

namespace paragrad::train {
namespace fs = std::filesystem;
namespace {

constexpr int pointer_version = 2;

std::string pointer_of(const std::string& folder) { return folder + "/latest.json"; }

/// The name of a set, which is that of a subfolder.
std::string name_of(const RunPosition& at) { return core::format("{}-{}-{}", at.phase, at.epoch, at.block); }

/// The position that has this name; another one if the name is none.
RunPosition position_of(const std::string& name) {
  RunPosition at;
  std::istringstream text(name);
  char dash = 0;
  text >> at.phase >> dash >> at.epoch >> dash >> at.block;
  return at;
}

/// The contents of latest.json.
struct Pointer {
  std::string set;
  int phase = 0;
  int workers = 0;
  RunIdentity run;
  metrics::RunFolder::Mark records;
};

std::string write_pointer(const Pointer& pointer) {
  core::Json json = {{"version", pointer_version},
                     {"set", pointer.set},
                     {"phase", pointer.phase},
                     {"workers", pointer.workers},
                     {"run",
                      {{"options_sha256", pointer.run.options_sha256},
                       {"data_sha256", pointer.run.data_sha256},
                       {"partition_sha256", pointer.run.partition_sha256},
                       {"data_bytes", pointer.run.data_bytes},
                       {"data_modified_ns", pointer.run.data_modified_ns}}},
                     {"records", {{"count", pointer.records.records}, {"sha256", pointer.records.sha256}}}};
  if (!pointer.run.classes_sha256.empty()) json["run"]["classes_sha256"] = pointer.run.classes_sha256;
  return core::text_of(json) + "\n";
}

/// Throws core::Json's exceptions.
Pointer parse_pointer(const std::string& text) {
  const core::Json json = core::parse_json(text);
  if (json.is_object() && json.value("version", core::Json(1)) == 1)
    throw core::ConfigError("was saved by an older version of this program; start a new run");
  const core::Json &run = json.at("run"), &records = json.at("records");
  Pointer pointer{json.at("set"),
                  json.at("phase"),
                  json.at("workers"),
                  {run.at("options_sha256"), run.at("data_sha256"), run.at("partition_sha256"),
                   run.value("classes_sha256", ""), run.at("data_bytes"), run.at("data_modified_ns")},
                  {records.at("count"), records.at("sha256")}};
  const RunPosition at = position_of(pointer.set);
  // Writing it again must give the same text; negative or too large numbers, fractions and truncated files do not.
  if (json.at("version") != pointer_version || name_of(at) != pointer.set || at.phase != pointer.phase || at.phase < 0 ||
      at.epoch < 1 || pointer.workers < 1 || write_pointer(pointer) != text)
    throw std::runtime_error("not a pointer written by this program");
  return pointer;
}

Pointer read_pointer(const std::string& folder) {
  const std::string text = system::read_text(pointer_of(folder));
  try {
    return parse_pointer(text);
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(core::format("cannot resume: '{}' {}", pointer_of(folder), error.what()));
  } catch (const std::exception&) {
    throw core::ConfigError(
        core::format("cannot resume: '{}' is damaged; restore it, or start a new run", pointer_of(folder)));
  }
}

}  // namespace

std::optional<int> StateStore::saved_phase(const std::string& folder) {
  if (folder.empty() || !fs::exists(pointer_of(folder))) return std::nullopt;
  return read_pointer(folder).phase;
}

RunIdentity StateStore::saved_run(const std::string& folder) { return read_pointer(folder).run; }

int StateStore::saved_workers(const std::string& folder) {
  return folder.empty() || !fs::exists(pointer_of(folder)) ? 0 : read_pointer(folder).workers;
}

std::string StateStore::file_of(const std::string& name, int worker) const {
  return core::format("{}/{}/worker-{:05}.h5", folder_, name, worker);
}

std::optional<RunPosition> StateStore::saved_position(const std::string& folder) {
  if (folder.empty() || !fs::exists(pointer_of(folder))) return std::nullopt;
  return position_of(read_pointer(folder).set);
}

void StateStore::save(const SavedState& state, const RunPosition& at) {
  const std::string name = name_of(at);
  comm::agree(worker_.comm(), [&] {
    const fs::path folder = fs::path(folder_) / name;
    std::error_code error;
    system::create_folders(folder, error);
    if (error) throw fs::filesystem_error("create", folder, error);
    state.write(file_of(name, worker_.rank()), owner_in(name));
  });
  comm::agree(worker_.comm(), [&] {
    if (worker_.rank() == 0) point_to(name, at.phase);
  });
}

// Records first: the pointer must only name what exists. Sets other than the latest can be removed.
void StateStore::point_to(const std::string& name, int phase) const {
  const auto mark = records_ != nullptr ? records_->sync() : metrics::RunFolder::Mark{};
  const std::string pointer = write_pointer({name, phase, worker_.size(), run_, mark});
  system::replace_file(
      pointer_of(folder_), [&](std::ostream& out) { out << pointer; }, system::Links::replace);
  for (const auto& entry : fs::directory_iterator(folder_))
    if (std::error_code ignored; entry.is_directory() && entry.path().filename() != name)
      fs::remove_all(entry.path(), ignored);  // try again later
}

// Worker 0 reads latest.json for all: on a network file system the others may still see the previous one. Nothing is changed
// before everything has been validated.
SavedState StateStore::load() {
  Pointer pointer;
  comm::agree(worker_.comm(), [&] {
    if (worker_.rank() != 0) return;
    pointer = read_pointer(folder_);
    if (pointer.workers != worker_.size() && !rescales_)
      throw core::ConfigError(
          core::format("cannot resume: '{}' was saved by {} workers and {} cannot load it, as each worker holds a part of "
                       "the state; resume "
                       "with {}, or add `rescale`",
                       folder_, pointer.workers, worker_.size(), pointer.workers));
  });
  loaded_ = owner_in(comm::first_text(worker_.comm(), pointer.set));
  if (rescales_) {
    const std::string mine = worker_.rank() == 0 ? core::format("{} {}", pointer.run.sha256(), pointer.workers) : "";
    std::istringstream(comm::first_text(worker_.comm(), mine)) >> loaded_.run >> loaded_.workers;
  }
  SavedState state;
  comm::agree(worker_.comm(), [&] { state = read(loaded_.workers == worker_.size() ? worker_.rank() : 0); });
  comm::agree(worker_.comm(), [&] {
    if (records_ != nullptr) records_->keep_records(pointer.records);
  });
  return state;
}

SavedState StateStore::read(int worker) const {
  StateOwner owner = loaded_;
  owner.worker = worker;
  return SavedState::read(file_of(owner.set, worker), owner);
}

void StateStore::restore(const SavedState& loaded, const core::StateView& state) {
  if (loaded_.workers == worker_.size()) return loaded.restore(state, worker_.device());
  const WorkerChange change{.before = loaded_.workers, .now = worker_.size(), .rank = worker_.rank()};
  comm::agree(worker_.comm(),
              [&] { rescaled(state, change, [&](int worker) { return read(worker); }).restore(state, worker_.device()); });
}

// latest.json is removed first: if removing the rest fails, the remaining files are not a valid state.
void StateStore::remove(const std::string& folder) {
  if (folder.empty() || !fs::exists(folder)) return;
  std::error_code error;
  fs::remove(pointer_of(folder), error);
  if (error) throw core::ConfigError(core::format("cannot remove '{}': {}", pointer_of(folder), error.message()));
  system::sync_folder(folder);
  fs::remove_all(folder, error);
}

}  // namespace paragrad::train
