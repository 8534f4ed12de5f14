#pragma once

#include <string>
#include <vector>

#include "core/json.hpp"
#include "runs/comparison.hpp"

namespace paragrad::runs {

/// A finished run, as its manifest describes it.
struct FinishedRun {
  ComparedRun row;
  core::Json shape;  ///< values that the options leave to defaults and the data: equal for two runs of the same training
};

/// The manifest.json of a run folder. Throws ConfigError: no run, a damaged manifest.
core::Json read_manifest(const std::string& folder);

/// Whether the folder is that of a search, whose runs are folders in it.
bool is_search(const std::string& folder);

/// Those that are not files of a search, such as its logs, which SEARCH/* names next to its runs. Throws ConfigError if
/// none is left.
std::vector<std::string> without_files_of_searches(std::vector<std::string> paths);

/// Throws ConfigError: no run, not finished, a damaged manifest.
FinishedRun read_finished_run(const std::string& folder);

}  // namespace paragrad::runs
