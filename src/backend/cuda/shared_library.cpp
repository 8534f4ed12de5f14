#include "backend/cuda/shared_library.hpp"

#include <dlfcn.h>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::backend::cuda {

SharedLibrary::SharedLibrary(const char* name, std::initializer_list<std::string> files, const char* advice) : name_(name) {
  for (const std::string& file : files)
    if (library_ == nullptr) library_ = dlopen(file.c_str(), RTLD_NOW);
  if (library_ == nullptr)
    throw core::ConfigError(core::format("device 'cuda': {} cannot be opened ({}): {}", *files.begin(), dlerror(), advice));
}

SharedLibrary::Symbol SharedLibrary::find(const char* function) const {
  void* const address = dlsym(library_, function);
  if (address == nullptr) throw core::ConfigError(core::format("device 'cuda': this {} has no {}", name_, function));
  return {address};
}

}  // namespace paragrad::backend::cuda
