#pragma once

#include <string>
#include <vector>

namespace paragrad::core {

/// How this program was built; the body is generated at build time (src/setup/build_info.cmake).
struct BuildInfo {
  std::string version;
  std::string commit;        ///< "unknown" outside a git checkout
  std::string dirty_sha256;  ///< of the uncommitted diff; empty for a clean checkout
  std::string compiler;
  std::string flags;
  std::string build_type;
  std::string python;  ///< folder of the Python package in the source
};
BuildInfo build_info();

/// A file that a program outside this tree adds to Paragrad's own; the list is generated, too (src/setup/program.cmake).
struct AddedSource {
  std::string file;
  std::string sha256;
};
std::vector<AddedSource> added_sources();

}  // namespace paragrad::core
