#include "data/hdf5_version.hpp"

#include <hdf5.h>

#include "core/format.hpp"

namespace paragrad::data {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return core::format("{}.{}.{}", major, minor, release);
}

}  // namespace paragrad::data
