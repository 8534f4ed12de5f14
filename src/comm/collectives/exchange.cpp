#include "comm/collectives/exchange.hpp"

#include <algorithm>
#include <vector>

#include "comm/collectives/receive_add.hpp"
#include "comm/tags.hpp"

namespace paragrad::comm::collectives {

void exchange_and_add(Communicator& comm, std::size_t count, std::size_t largest, std::size_t lead,
                      const std::function<Exchange(std::size_t)>& exchange, std::size_t alike) {
  ReceiveAdd arrivals(comm, count, largest, [&](std::size_t k) {
    const Exchange e = exchange(k);
    return ReceiveAdd::Message{e.from, e.incoming};
  });
  const std::size_t ahead = std::min(lead, comm.segmentation().in_flight);
  std::vector<Sends> sends(ahead, Sends(comm));
  std::size_t next_to_start = 0, next_to_finish = 0;  // of sends
  for (std::size_t added = 0, sent = 0; added < count; ++added) {
    if (arrivals.posted() < alike) {
      const std::size_t left_out = comm.skip_repeated(alike - arrivals.posted());
      added += left_out;
      sent += left_out;
      arrivals.leave_out(left_out);
    }
    for (; sent < std::min(count, added + ahead); ++sent) {
      const Exchange e = exchange(sent);
      sends[next_to_start++ % ahead].start(e.to, e.outgoing);
    }
    // The target of the addition may still be being sent.
    sends[next_to_finish++ % ahead].finish();
    arrivals.add_next();
  }
}

void send_segments(Communicator& comm, int to, std::span<const float> data) {
  const Segmentation& cut = comm.segmentation();
  Sends sends(comm);
  for (std::size_t k = 0; k < cut.segments(data.size()); ++k) {
    sends.finish_all_but(cut.in_flight - 1);
    sends.start(to, cut.segment(data, k));
  }
  sends.finish();
}

void add_from(Communicator& comm, int from, std::span<float> data) {
  const Segmentation& cut = comm.segmentation();
  const std::size_t count = cut.segments(data.size());
  ReceiveAdd arrivals(comm, count, data.size(), [&](std::size_t k) {
    return ReceiveAdd::Message{from, cut.segment(data, k)};
  });
  for (std::size_t k = 0; k < count; ++k) arrivals.add_next();
}

void exchange_in_place(Communicator& comm, const Exchange& e) {
  Request receive;
  if (!e.incoming.empty()) receive = comm.start_receive(e.from, collective_tag, e.incoming);
  if (!e.outgoing.empty()) comm.send(e.to, collective_tag, e.outgoing);
  if (!e.incoming.empty()) comm.wait(receive);
}

}  // namespace paragrad::comm::collectives
