#include "dist/parameter_server/service.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace paragrad::dist {

void Service::run(comm::Communicator& comm) {
  gone_ = 0;
  while (!over()) {
    while (serve_one(comm)) {
    }
    if (!over()) waiting_.push_back(receive(comm));
  }
}

bool Service::over() const { return gone_ == server_.workers(); }

Request Service::receive(comm::Communicator& comm) {
  Request request;
  comm.receive(comm::any_source, request_tag, writable_bytes_of(request));
  return request;
}

// The first whose turn it is. A worker's requests stay in their order: of each the first counts.
bool Service::serve_one(comm::Communicator& comm) {
  std::vector<std::int32_t> behind;
  for (auto request = waiting_.begin(); request != waiting_.end(); ++request) {
    if (std::ranges::find(behind, request->worker) != behind.end()) continue;
    if (has_turn(*request)) {
      const Request chosen = *request;
      waiting_.erase(request);
      serve(comm, chosen);
      return true;
    }
    behind.push_back(request->worker);
  }
  return false;
}

bool Service::has_turn(const Request& request) const {
  switch (request.kind) {
    case Request::Kind::push:
      return server_.may_push(request.worker);
    case Request::Kind::fetch:
      return server_.may_fetch(request.worker, request.number);
    case Request::Kind::take:
      return server_.may_take(request.worker);
    case Request::Kind::meet:
      return server_.may_meet(request.worker);
    default:
      return true;  // asked for when all is quiet
  }
}

void Service::serve(comm::Communicator& comm, const Request& request) {
  switch (request.kind) {
    case Request::Kind::start:
      return start(comm, request);
    case Request::Kind::push:
      return push(comm, request);
    case Request::Kind::fetch:
      return reply_with_parameters(comm, request.worker, server_.fetch(request.worker));
    case Request::Kind::take:
      return reply(comm, request.worker, server_.take(request.worker, request.number));
    case Request::Kind::meet:
      return meet(comm, request);
    case Request::Kind::get_state:
      return get_state(comm, request.worker);
    case Request::Kind::set_state:
      return set_state(comm, request.worker);
    case Request::Kind::report:
      return report(comm, request.worker);
    case Request::Kind::leave:
      ++gone_;
      return;
  }
  throw std::logic_error("a server got a message that is no request");
}

void Service::start(comm::Communicator& comm, const Request& request) {
  std::vector<core::Matrix> layout(request.number);
  if (!layout.empty()) comm.receive(request.worker, content_tag, std::as_writable_bytes(std::span(layout)));
  server_.start(comm.device(), std::move(layout), request.size);
  if (request.size > 0) comm.receive(request.worker, content_tag, server_.shard().parameters());
  reply(comm, request.worker, 0);
}

void Service::push(comm::Communicator& comm, const Request& request) {
  Shard& shard = server_.shard();
  if (!shard.gradient().empty()) comm.receive(request.worker, content_tag, shard.gradient());
  server_.push(comm, {request.worker, request.number, request.step});
}

void Service::meet(comm::Communicator& comm, const Request& request) {
  came_.push_back(request.worker);
  if (server_.meet(comm, request.worker)) answer_meeting(comm);
}

void Service::answer_meeting(comm::Communicator& comm) {
  std::vector<std::int32_t> all = std::exchange(came_, {});
  std::ranges::sort(all);
  for (const std::int32_t worker : all) reply_with_parameters(comm, worker, server_.shard().version());
}

void Service::get_state(comm::Communicator& comm, int worker) {
  core::State state;
  server_.shard().describe_state(state);
  for (const auto& array : state.arrays) comm.send(worker, parameter_tag, array.values);
  std::vector<double> numbers;
  for (const auto& number : state.numbers) numbers.push_back(number.get());
  send_list(comm, worker, reply_tag, numbers);
}

void Service::set_state(comm::Communicator& comm, int worker) {
  core::State state;
  server_.shard().describe_state(state);
  for (const auto& array : state.arrays) comm.receive(worker, content_tag, array.values);
  const auto numbers = receive_list<double>(comm, worker, content_tag);
  for (std::size_t i = 0; i < numbers.size(); ++i) state.numbers.at(i).set(numbers[i]);
  reply(comm, worker, 0);
}

void Service::report(comm::Communicator& comm, int worker) {
  const Statistics& statistics = server_.statistics();
  send_list(comm, worker, reply_tag, statistics.staleness);
  send_list(comm, worker, reply_tag, std::vector<std::uint64_t>{statistics.dropped, statistics.splits_lost});
  send_list(comm, worker, reply_tag, server_.events());
}

void Service::reply(comm::Communicator& comm, int worker, std::uint64_t number) {
  const Reply reply{.number = number, .lost = server_.all_lost().size()};
  comm.send(worker, reply_tag, bytes_of(reply));
}

void Service::reply_with_parameters(comm::Communicator& comm, int worker, std::uint64_t version) {
  reply(comm, worker, version);
  const std::span<float> parameters = server_.shard().parameters();
  if (!parameters.empty()) comm.send(worker, parameter_tag, std::span<const float>(parameters));
}

}  // namespace paragrad::dist
