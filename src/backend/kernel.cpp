#include "backend/kernel.hpp"

#include <stdexcept>

#include "core/format.hpp"

namespace paragrad::backend {

// Not in the header: nvcc cannot compile the library that formats.
void refuse_size(std::string_view call, const char* argument, std::size_t size, std::size_t wanted) {
  throw std::logic_error(core::format("{}: {} has {} elements where {} are wanted", call, argument, size, wanted));
}

}  // namespace paragrad::backend
