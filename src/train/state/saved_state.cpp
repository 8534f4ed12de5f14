#include "train/state/saved_state.hpp"

#include <set>

#include "core/checksum.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_file.hpp"

namespace paragrad::train {
namespace {

constexpr const char* state_format = "paragrad-state";
constexpr std::uint64_t state_version = 6;

/// Whether `bounds` are beginnings and ends of ranges with this number of elements in all.
bool are_pieces_of(std::size_t elements, std::span<const std::uint64_t> bounds) {
  std::size_t left = elements;
  for (std::size_t i = 0; i + 1 < bounds.size(); i += 2) {
    if (bounds[i] > bounds[i + 1] || bounds[i + 1] - bounds[i] > left) return false;
    left -= bounds[i + 1] - bounds[i];
  }
  return left == 0 && bounds.size() % 2 == 0;
}

std::string describe_owner(const StateOwner& owner) {
  return core::format("worker {} of {} in set {} of run {}", owner.worker, owner.workers, owner.set,
                      owner.run.substr(0, 12));
}

}  // namespace

SavedState::SavedState(const core::StateView& state, backend::Device& device) {
  if (device.computes())
    for (const auto& array : state.arrays) {
      if (array.values.empty()) continue;
      for (const core::Range piece : array.pieces) {
        auto& bounds = pieces_[array.name];
        bounds.insert(bounds.end(), {piece.begin, piece.end});
      }
      auto& copy = arrays_[array.name];
      copy.resize(array.values.size());
      device.transfer(std::span<const float>(array.values), std::span(copy));
    }
  for (const auto& number : state.numbers) numbers_[number.name] = number.get();
}

void SavedState::restore(const core::StateView& state, backend::Device& device) const {
  expect_all_of(state);
  if (device.computes())
    for (const auto& array : state.arrays) {
      if (array.values.empty()) continue;
      const auto saved = arrays_.find(array.name);
      if (saved == arrays_.end() || saved->second.size() != array.values.size())
        throw core::ConfigError(
            core::format("the saved state has no array '{}' of {} elements", array.name, array.values.size()));
      device.transfer(std::span<const float>(saved->second), array.values);
    }
  for (const auto& number : state.numbers) number.set(this->number(number.name));
}

// What nobody takes would be forgotten.
void SavedState::expect_all_of(const core::StateView& state) const {
  std::set<std::string> wanted;
  for (const auto& array : state.arrays) wanted.insert(array.name);
  for (const auto& [name, _] : arrays_)
    if (!wanted.contains(name))
      throw core::ConfigError(core::format("the saved state has an array '{}', which this run does not have", name));
}

double SavedState::number(const std::string& name) const {
  const auto saved = numbers_.find(name);
  if (saved == numbers_.end()) throw core::ConfigError(core::format("the saved state has no number '{}'", name));
  return saved->second;
}

std::vector<core::Range> SavedState::pieces(const std::string& name) const {
  std::vector<core::Range> result;
  if (const auto found = pieces_.find(name); found != pieces_.end())
    for (std::size_t i = 0; i + 1 < found->second.size(); i += 2) result.push_back({found->second[i], found->second[i + 1]});
  return result;
}

std::string SavedState::checksum(const StateOwner& owner) const {
  core::Checksum hash;
  const std::string whose = core::format("{} {} {} {}\n", owner.run, owner.set, owner.worker, owner.workers);
  hash.update(std::as_bytes(std::span(whose)));
  for (const auto& [name, values] : arrays_) {
    hash.update(std::as_bytes(std::span(name)));
    hash.update(std::as_bytes(std::span(values)));
  }
  for (const auto& [name, value] : numbers_) {
    hash.update(std::as_bytes(std::span(name)));
    hash.update(std::as_bytes(std::span(&value, 1)));
  }
  for (const auto& [name, bounds] : pieces_) {
    hash.update(std::as_bytes(std::span(name)));
    hash.update(std::as_bytes(std::span(bounds)));
  }
  return hash.digits();
}

void SavedState::write(const std::string& path, const StateOwner& owner) const {
  auto file = data::Hdf5File::create(path, system::Links::replace);
  file.set_text("/", "format", state_format);
  file.set_count("/", "version", state_version);
  file.set_text("/", "xxh3", checksum(owner));
  file.set_text("/", "run", owner.run);
  file.set_text("/", "set", owner.set);
  file.set_count("/", "worker", static_cast<std::uint64_t>(owner.worker));
  file.set_count("/", "workers", static_cast<std::uint64_t>(owner.workers));
  std::vector<std::string> array_names, number_names, piece_names;
  std::vector<double> numbers;
  for (const auto& [name, values] : arrays_) {
    file.write("/arrays/" + std::to_string(array_names.size()), std::span<const float>(values));
    array_names.push_back(name);
  }
  for (const auto& [name, value] : numbers_) {
    number_names.push_back(name);
    numbers.push_back(value);
  }
  for (const auto& [name, bounds] : pieces_) {
    file.write("/pieces/" + std::to_string(piece_names.size()), std::span<const std::uint64_t>(bounds));
    piece_names.push_back(name);
  }
  file.write("/numbers", std::span<const double>(numbers));
  file.set_texts("/", "array_names", array_names);
  file.set_texts("/", "number_names", number_names);
  file.set_texts("/", "piece_names", piece_names);
  file.finish();
}

SavedState SavedState::read(const std::string& path, const StateOwner& owner) {
  const auto file = data::Hdf5File::open(path);
  if (!file.has_attribute("/", "format") || file.text("/", "format") != state_format)
    throw core::ConfigError(core::format("'{}' is an HDF5 file but not the state of a run", path));
  if (const auto version = file.count("/", "version"); version != state_version)
    throw core::ConfigError(
        core::format("state '{}' has format version {}; this program reads version {}", path, version, state_version));
  const StateOwner found{file.text("/", "run"), file.text("/", "set"), static_cast<int>(file.count("/", "worker")),
                         static_cast<int>(file.count("/", "workers"))};
  if (found != owner)
    throw core::ConfigError(
        core::format("cannot resume: '{}' holds the state of {}, not of {}; restore the file, or start a "
                     "new run",
                     path, describe_owner(found), describe_owner(owner)));
  SavedState state;
  const auto array_names = file.texts("/", "array_names"), number_names = file.texts("/", "number_names"),
             piece_names = file.texts("/", "piece_names");
  for (std::size_t i = 0; i < array_names.size(); ++i)
    state.arrays_[array_names[i]] = file.read<float>("/arrays/" + std::to_string(i));
  for (std::size_t i = 0; i < piece_names.size(); ++i)
    state.pieces_[piece_names[i]] = file.read<std::uint64_t>("/pieces/" + std::to_string(i));
  for (const auto& [name, bounds] : state.pieces_)
    if (!state.arrays_.contains(name) || !are_pieces_of(state.arrays_.at(name).size(), bounds))
      throw core::ConfigError(
          core::format("state '{}' is damaged: the pieces of '{}' are not those of an array", path, name));
  const auto numbers = file.read<double>("/numbers");
  if (numbers.size() != number_names.size())
    throw core::ConfigError(
        core::format("state '{}' is damaged: it lists {} numbers but holds {}", path, number_names.size(), numbers.size()));
  for (std::size_t i = 0; i < number_names.size(); ++i) state.numbers_[number_names[i]] = numbers[i];
  if (state.checksum(owner) != file.text("/", "xxh3"))
    throw core::ConfigError(core::format("state '{}' is damaged: it does not match its checksum", path));
  return state;
}

}  // namespace paragrad::train
