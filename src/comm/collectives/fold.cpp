#include "comm/collectives/fold.hpp"

#include <bit>

#include "comm/collectives/exchange.hpp"
#include "comm/collectives/rooted.hpp"

namespace paragrad::comm::collectives {

Fold::Fold(const Communicator& comm)
    : active(static_cast<int>(std::bit_floor(static_cast<unsigned>(comm.size())))), rank(comm.rank()), partner(no_worker) {
  if (outside()) {
    partner = rank - active;
  } else if (rank + active < comm.size()) {
    partner = rank + active;
  }
}

void Fold::in(Communicator& comm, std::span<float> data) const {
  if (partner == no_worker) return;
  if (outside()) {
    send_segments(comm, partner, data);
  } else {
    add_from(comm, partner, data);
  }
}

void Fold::out(Communicator& comm, std::span<float> data) const {
  if (partner == no_worker) return;
  if (outside()) {
    exchange_in_place(comm, {.outgoing = {}, .from = partner, .incoming = data});
  } else {
    exchange_in_place(comm, {.to = partner, .outgoing = data, .incoming = {}});
  }
}

}  // namespace paragrad::comm::collectives
