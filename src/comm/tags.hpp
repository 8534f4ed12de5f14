#pragma once

namespace paragrad::comm {

/// Tags from here on belong to this module; algorithms built on top use smaller ones. MPI promises tags up to 32767.
inline constexpr int first_reserved_tag = 32000;
inline constexpr int allreduce_tag = 32000;
inline constexpr int control_tag = 32001;
inline constexpr int second_allreduce_tag = 32002;  // of an allreduce that has two messages for one peer at the same time
inline constexpr int clock_tag = 32003;
inline constexpr int farewell_tag = 32004;
inline constexpr int no_message_tag = 32005;  // nobody sends with it
inline constexpr int parts_tag = 32006;

}  // namespace paragrad::comm
