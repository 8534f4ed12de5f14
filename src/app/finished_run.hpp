#pragma once

#include <string>

#include "app/comparison.hpp"
#include "core/json.hpp"

namespace paragrad::app {

/// A finished run, as its manifest describes it.
struct FinishedRun {
  ComparedRun row;
  core::Json shape;  ///< values that the options leave to defaults and the data: equal for two runs of the same training
};

/// The manifest.json of a run folder. Throws ConfigError: no run, a damaged manifest.
core::Json read_manifest(const std::string& folder);

/// Throws ConfigError: no run, not finished, a damaged manifest.
FinishedRun read_finished_run(const std::string& folder);

}  // namespace paragrad::app
