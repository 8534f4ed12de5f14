#pragma once

namespace paragrad::comm {

/// Tags from here on belong to this module; algorithms built on top use smaller ones. MPI promises tags up to 32767.
inline constexpr int first_reserved_tag = 32000;
inline constexpr int allreduce_tag = 32000;
inline constexpr int control_tag = 32001;

}  // namespace paragrad::comm
