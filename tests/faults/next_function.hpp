#pragma once

#include <dlfcn.h>

namespace paragrad::faults {

/// The function of this name that a preloaded one replaces.
template <typename Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace paragrad::faults
