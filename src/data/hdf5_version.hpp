#pragma once

#include <string>

namespace paragrad::data {

/// Version of the HDF5 library, for example "1.10.8".
std::string hdf5_version();

}  // namespace paragrad::data
