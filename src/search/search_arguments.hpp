#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"

namespace paragrad::search {

/// Options of `paragrad search`.
struct SearchArguments {
  std::string file;
  std::string folder;
  std::string command = "simulate";
  std::vector<std::uint64_t> seeds{1};
  std::size_t draws = 8;
  std::uint64_t draw_seed = 1;
  std::string measure = "auto";
  std::vector<int> rungs;
  double keep = 0.5;
  int jobs = 0;
  int ranks = 0;
  int host_threads = 0;
  int groups = 0;
  std::string jobs_file;
  std::size_t parts = 0;
  std::size_t part = 0;
  bool only_rank = false;
  bool has_ranges = true;  ///< in the file, as far as is known; no option

  void describe(core::OptionList& list);
};

/// Those of which a search can execute runs.
extern const std::vector<std::string> searchable_commands;

}  // namespace paragrad::search
