#pragma once

#include <string>

#include "cli/command.hpp"
#include "data/dataset.hpp"

namespace paragrad::app {

/// Adds import-idx, import-csv and the other importers to the command `data`.
void add_import_commands(CLI::App& data);

/// Prints the size and the checksum of a data file that was made.
void print_written(const data::DatasetInfo& info, const std::string& path);

}  // namespace paragrad::app
