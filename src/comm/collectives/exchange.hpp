#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "comm/communicator.hpp"

namespace paragrad::comm::collectives {

/// One message out and one in; the one that comes in is added to `incoming`. An empty span: no message that way.
/// Both may be the same memory: it is sent before it changes.
struct Exchange {
  int to = 0;
  std::span<const float> outgoing;
  int from = 0;
  std::span<float> incoming;
};

/// Exchanges 0 … count-1 in order, each of at most one segment, overlapping arrival and addition.
///
/// largest  upper bound of the lengths of what comes in, in elements.
/// lead     exchange k may be sent as soon as exchange k - lead has been added (lead >= 1); no more than messages_in_flight
///          are under way whatever it says.
/// alike    so many exchanges at the beginning have the same peers and lengths.
void exchange_and_add(Communicator& comm, std::size_t count, std::size_t largest, std::size_t lead,
                      const std::function<Exchange(std::size_t)>& exchange, std::size_t alike = 0);

/// The two one-sided cases, segment by segment: all of `data` to one peer, whose call is add_from.
void send_segments(Communicator& comm, int to, std::span<const float> data);
void add_from(Communicator& comm, int from, std::span<float> data);

/// One message out and one in, in place; no additions, so no segments and no scratch. Empty spans as above.
void exchange_in_place(Communicator& comm, const Exchange& exchange);

}  // namespace paragrad::comm::collectives
