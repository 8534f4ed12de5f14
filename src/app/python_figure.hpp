#pragma once

#include <string>
#include <vector>

namespace paragrad::app {

/// Has a module of the Python package draw with matplotlib, and returns its exit code: 2 if it has printed an error that the
/// user can mend. Throws ConfigError if there is no package, or no Python that can draw.
int draw_in_python(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace paragrad::app
