#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "core/range.hpp"
#include "core/state_view.hpp"

namespace paragrad::train {

/// Which part of which run's state a file contains.
struct StateOwner {
  std::string run;  ///< RunIdentity::sha256()
  std::string set;
  int worker = 0;
  int workers = 1;

  bool operator==(const StateOwner&) const = default;
};

/// A copy of training state in host memory, either to restore it after a trial or to write it to a file.
class SavedState {
 public:
  SavedState() = default;

  /// On a device that does not compute, arrays have no content and only numbers are copied.
  SavedState(const core::StateView& state, backend::Device& device);

  /// Restores everything. Throws ConfigError that names what is missing, left over or has a different length.
  void restore(const core::StateView& state, backend::Device& device) const;

  bool has(const std::string& name) const { return arrays_.contains(name); }
  std::size_t length(const std::string& name) const { return arrays_.at(name).size(); }
  double number(const std::string& name) const;  ///< Throws ConfigError if there is none.

  const std::map<std::string, std::vector<float>>& arrays() const { return arrays_; }
  const std::map<std::string, double>& numbers() const { return numbers_; }

  /// Which elements of a shared array the array of this name holds; empty: it is no piece of one.
  std::vector<core::Range> pieces(const std::string& name) const;

  void set(const std::string& name, std::vector<float> array) { arrays_[name] = std::move(array); }
  void set(const std::string& name, double number) { numbers_[name] = number; }

  /// Writes an HDF5 file under a temporary name and renames it. Throws ConfigError.
  void write(const std::string& path, const StateOwner& owner) const;

  /// Throws ConfigError: a missing, foreign or damaged file (its checksum is verified), or the state of another owner.
  static SavedState read(const std::string& path, const StateOwner& owner);

 private:
  std::string checksum(const StateOwner& owner) const;
  void expect_all_of(const core::StateView& state) const;

  std::map<std::string, std::vector<float>> arrays_;
  std::map<std::string, double> numbers_;
  std::map<std::string, std::vector<std::uint64_t>> pieces_;  // begin and end of each
};

}  // namespace paragrad::train
