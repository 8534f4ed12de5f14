#include "dist/parameter_server/message_link.hpp"

#include "comm/compression/gradient_sum.hpp"

namespace paragrad::dist {

void MessageLink::send(comm::Communicator& comm, std::size_t shard, const Request& request) {
  comm.send(server(shard), request_tag, bytes_of(request));
}

Reply MessageLink::receive_reply(comm::Communicator& comm, std::size_t shard) {
  Reply reply;
  comm.receive(server(shard), reply_tag, writable_bytes_of(reply));
  return reply;
}

void MessageLink::start(comm::Communicator& comm, std::span<const core::Matrix> layout, std::span<const float> parameters) {
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const core::Range range = shards_[i];
    const std::vector<core::Matrix> matrices = comm::columns_within(layout, range);
    Request request = this->request(Request::Kind::start, matrices.size());
    request.size = range.size();
    send(comm, i, request);
    if (!matrices.empty()) comm.send(server(i), content_tag, std::as_bytes(std::span(matrices)));
    if (!range.empty()) comm.send(server(i), content_tag, range.of(parameters));
    receive_reply(comm, i);
  }
}

// All transfers are under way before the first is waited for: a server that lets this worker wait for another holds up
// nobody at the others.
void MessageLink::push(comm::Communicator& comm, const Versions& versions, const optim::Step& step,
                       std::span<const float> gradient) {
  std::vector<Request> requests;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    requests.push_back(request(Request::Kind::push, versions[i]));
    requests.back().step = step;
  }
  std::vector<comm::Request> transfers;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    transfers.push_back(comm.start_send(server(i), request_tag, bytes_of(requests[i])));
    if (!shards_[i].empty()) transfers.push_back(comm.start_send(server(i), content_tag, shards_[i].of(gradient)));
  }
  for (const comm::Request transfer : transfers) comm.wait(transfer);
}

void MessageLink::fetch(comm::Communicator& comm, Versions& versions, std::span<float> parameters) {
  ask(comm, Request::Kind::fetch, versions, parameters);
}

void MessageLink::meet(comm::Communicator& comm, Versions& versions, std::span<float> parameters) {
  ask(comm, Request::Kind::meet, versions, parameters);
}

void MessageLink::ask(comm::Communicator& comm, Request::Kind kind, Versions& versions, std::span<float> parameters) {
  std::vector<Request> requests;
  for (const std::uint64_t version : versions) requests.push_back(request(kind, version));
  std::vector<Reply> replies(shards_.size());
  std::vector<comm::Request> transfers;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    transfers.push_back(comm.start_receive(server(i), reply_tag, writable_bytes_of(replies[i])));
    if (!shards_[i].empty()) transfers.push_back(comm.start_receive(server(i), parameter_tag, shards_[i].of(parameters)));
  }
  for (std::size_t i = 0; i < shards_.size(); ++i)
    transfers.push_back(comm.start_send(server(i), request_tag, bytes_of(requests[i])));
  for (const comm::Request transfer : transfers) comm.wait(transfer);
  for (std::size_t i = 0; i < shards_.size(); ++i) versions[i] = replies[i].number;
}

std::uint64_t MessageLink::take(comm::Communicator& comm, std::uint64_t done) {
  send(comm, 0, request(Request::Kind::take, done));
  return receive_reply(comm, 0).number;
}

void MessageLink::get_state(comm::Communicator& comm, std::size_t index, Shard& copy) {
  core::State state;
  copy.describe_state(state);
  send(comm, index, request(Request::Kind::get_state));
  for (const auto& array : state.arrays) comm.receive(server(index), parameter_tag, array.values);
  const auto numbers = receive_list<double>(comm, server(index), reply_tag);
  for (std::size_t i = 0; i < numbers.size(); ++i) state.numbers.at(i).set(numbers[i]);
}

void MessageLink::set_state(comm::Communicator& comm, std::size_t index, Shard& copy) {
  core::State state;
  copy.describe_state(state);
  send(comm, index, request(Request::Kind::set_state));
  for (const auto& array : state.arrays) comm.send(server(index), content_tag, array.values);
  std::vector<double> numbers;
  for (const auto& number : state.numbers) numbers.push_back(number.get());
  send_list(comm, server(index), content_tag, numbers);
  receive_reply(comm, index);
}

Statistics MessageLink::report(comm::Communicator& comm, std::vector<std::vector<Event>>& orders) {
  Statistics all;
  orders.clear();
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    send(comm, i, request(Request::Kind::report));
    Statistics one;
    one.staleness = receive_list<std::uint64_t>(comm, server(i), reply_tag);
    const auto counts = receive_list<std::uint64_t>(comm, server(i), reply_tag);
    one.dropped = counts.at(0);
    one.splits_lost = counts.at(1);
    all += one;
    orders.push_back(receive_list<Event>(comm, server(i), reply_tag));
  }
  return all;
}

void MessageLink::leave(comm::Communicator& comm) {
  for (std::size_t i = 0; i < shards_.size(); ++i) send(comm, i, request(Request::Kind::leave));
}

}  // namespace paragrad::dist
