#pragma once

#include <string>

namespace paragrad::data {

/// Of the HDF5 library: "1.10.8".
std::string hdf5_version();

}  // namespace paragrad::data
