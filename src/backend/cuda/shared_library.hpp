#pragma once

#include <initializer_list>
#include <string>

namespace paragrad::backend::cuda {

/// A library of NVIDIA's, opened when it is first wanted: linked, these would take their time and a quarter of a gigabyte of
/// every program that has nothing to do with a GPU. It is never closed.
class SharedLibrary {
 public:
  /// files: tried one after the other. Throws ConfigError: none can be opened, and what to do about it.
  SharedLibrary(const char* name, std::initializer_list<std::string> files, const char* advice);

  /// Throws ConfigError where the library has no such function.
  template <class Function>
  void find(const char* function, Function& pointer) const {
    pointer = reinterpret_cast<Function>(address_of(function));
  }

 private:
  void* address_of(const char* function) const;

  const char* name_;
  void* library_ = nullptr;
};

}  // namespace paragrad::backend::cuda
