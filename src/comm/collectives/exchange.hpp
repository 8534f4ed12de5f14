#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "comm/communicator.hpp"

namespace paragrad::comm::collectives {

/// One message out and one in; the received message is added to `incoming`. An empty span means no message in that
/// direction. Both may be the same memory: it is sent before it changes.
struct Exchange {
  int to = 0;
  std::span<const float> outgoing;
  int from = 0;
  std::span<float> incoming;
};

/// Runs exchanges 0 … count-1 in order, each of at most one segment, overlapping arrival and addition.
///
/// largest  upper bound on the lengths of the received messages, in elements.
/// lead     exchange k may be sent once exchange k - lead has been added (lead >= 1); at most as many
///          are under way as the communicator's segmentation says.
/// alike    the number of initial exchanges that have the same peers and lengths.
void exchange_and_add(Communicator& comm, std::size_t count, std::size_t largest, std::size_t lead,
                      const std::function<Exchange(std::size_t)>& exchange, std::size_t alike = 0);

/// The two one-directional cases, segment by segment: sends all of `data` to a peer, which calls add_from.
void send_segments(Communicator& comm, int to, std::span<const float> data);
void add_from(Communicator& comm, int from, std::span<float> data);

/// One message out and one in, in place; without additions, so without segments and scratch memory. Empty spans as above.
void exchange_in_place(Communicator& comm, const Exchange& exchange);

}  // namespace paragrad::comm::collectives
