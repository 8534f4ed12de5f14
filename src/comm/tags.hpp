#pragma once

namespace paragrad::comm {

/// Tags from here on are reserved for this module; code built on top uses smaller ones. MPI guarantees tags up to 32767.
inline constexpr int first_reserved_tag = 32000;
inline constexpr int collective_tag = 32000;
inline constexpr int control_tag = 32001;
inline constexpr int second_collective_tag = 32002;  // for two streams of messages to one peer at the same time
inline constexpr int clock_tag = 32003;
inline constexpr int farewell_tag = 32004;
inline constexpr int no_message_tag = 32005;  // never sent

}  // namespace paragrad::comm
