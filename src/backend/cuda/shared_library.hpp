#pragma once

#include <initializer_list>
#include <string>

namespace paragrad::backend::cuda {

/// An NVIDIA library, opened on first use: linked, these libraries would cost every program start-up time and a quarter of a
/// gigabyte of memory even without a GPU. It is never closed.
class SharedLibrary {
 public:
  /// files: tried in order. Throws ConfigError with advice if none can be opened.
  SharedLibrary(const char* name, std::initializer_list<std::string> files, const char* advice);

  /// An address, as a pointer to a function of any type.
  struct Symbol {
    void* address;

    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  /// Throws ConfigError if the library has no such function.
  Symbol find(const char* function) const;

 private:
  const char* name_;
  void* library_ = nullptr;
};

}  // namespace paragrad::backend::cuda
