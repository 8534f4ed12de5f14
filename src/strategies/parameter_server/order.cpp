#include "strategies/parameter_server/order.hpp"

#include <algorithm>
#include <fstream>

#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/json.hpp"
#include "system/file_replacement.hpp"

namespace paragrad::strategies {
namespace {

constexpr const char* format_name = "paragrad-order";
constexpr int format_version = 1;
constexpr std::size_t events_per_line = 16;
constexpr std::size_t most_servers = 1'000'000;

std::string text_of(const Event& event) {
  return core::format("{}{}@{}", static_cast<char>(event.kind), event.worker, event.version);
}

const char* doing(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::push:
      return "sent a gradient";
    case Event::Kind::fetch:
      return "fetched parameters";
    case Event::Kind::take:
      return "took a split";
    case Event::Kind::meet:
      return "reached the end of an epoch";
    case Event::Kind::lose:
      break;
  }
  return "was lost";
}

[[noreturn]] void damaged(const std::string& path) {
  throw core::ConfigError(core::format("'{}' is damaged: it does not hold the complete order of a run", path));
}

Event read_event(std::istream& in, const std::string& path) {
  char kind = 0, at = 0;
  Event event;
  in >> kind >> event.worker >> at >> event.version;
  if (!in || at != '@' || event.worker < 0 || std::string("pftmx").find(kind) == std::string::npos) damaged(path);
  event.kind = static_cast<Event::Kind>(kind);
  if (event.kind == Event::Kind::lose)
    throw core::ConfigError(
        core::format("cannot replay '{}': that run lost worker {}, and a replay would have to lose it at the same point",
                     path, event.worker));
  return event;
}

}  // namespace

void write_orders(const std::string& path, const Orders& orders) {
  core::Json head{{"format", format_name}, {"version", format_version}, {"servers", orders.servers.size()}};
  for (const auto& [name, value] : orders.shape) head["run"].push_back({name, value});
  system::replace_file(path, [&](std::ostream& out) {
    out << core::text_of(head) << "\n";
    for (const auto& events : orders.servers) {
      out << events.size() << "\n";
      for (std::size_t i = 0; i < events.size(); ++i)
        out << text_of(events[i]) << (i % events_per_line == events_per_line - 1 || i + 1 == events.size() ? "\n" : " ");
    }
  });
}

Orders read_orders(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw core::ConfigError(core::format("cannot read the order of a run from '{}'", path));
  std::string line;
  std::getline(in, line);
  const core::Json head = core::parse_json_or_discard(line);
  if (!head.is_object() || head.value("format", core::Json()) != format_name)
    throw core::ConfigError(core::format("'{}' does not hold the order of a run: give a file written by `record`", path));
  if (const core::Json version = head.value("version", core::Json()); version != format_version)
    throw core::ConfigError(core::format("'{}' has format version {}; this program reads version {}", path,
                                         core::text_of(version), format_version));
  Orders orders;
  if (!head.contains("servers") || !head["servers"].is_number_unsigned()) damaged(path);
  for (const auto& entry : head.value("run", core::Json::array())) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string()) damaged(path);
    orders.shape.emplace_back(entry[0], entry[1]);
  }
  orders.servers.resize(std::min(head["servers"].get<std::size_t>(), most_servers));
  for (auto& events : orders.servers) {
    std::size_t count = 0;
    if (!(in >> count)) damaged(path);
    while (events.size() < count) events.push_back(read_event(in, path));
  }
  return orders;
}

void check_same_shape(const std::string& path, const RunShape& recorded, const RunShape& now) {
  for (const auto& [name, value] : now) {
    const auto before = std::ranges::find(recorded, name, &RunShape::value_type::first);
    const std::string text = before == recorded.end() ? "nothing" : before->second;
    if (text != value)
      throw core::ConfigError(core::format(
          "cannot replay '{}': it was recorded with {} {}, not {}; only rates, update rules and the platform may differ",
          path, name, text, value));
  }
}

Order::Order(const std::vector<Event>* given, bool records) : given_(given), records_(records) {
  if (given == nullptr) return;
  for (std::size_t place = 0; place < given->size(); ++place) {
    const Event& event = (*given)[place];
    of_workers_[event.worker].places.push_back(place);
    Queue& queue = changes(event.kind) ? changes_ : event.kind == Event::Kind::take ? takes_ : fetches_;
    queue.places.push_back(place);
  }
}

const Order::Queue& Order::next_of(int worker) const {
  const auto queue = of_workers_.find(worker);
  if (queue == of_workers_.end() || queue->second.empty())
    throw core::ConfigError(core::format("the recorded order has ended for worker {}, which still trains", worker));
  return queue->second;
}

bool Order::admits(Event::Kind kind, int worker) const {
  if (given_ == nullptr) return true;
  const std::size_t place = next_of(worker).next();
  if (const Event& next = (*given_)[place]; next.kind != kind)
    throw core::ConfigError(core::format("cannot follow the recorded order: worker {} {} where it {} in the recorded run",
                                         worker, doing(kind), doing(next.kind)));
  if (kind == Event::Kind::take) return takes_.next() == place;
  if (kind == Event::Kind::fetch) return changes_.empty() || place < changes_.next();
  return changes_.next() == place && all_fetched_before(place);
}

void Order::note(const Event& event) {
  if (given_ != nullptr) {
    const Event& next = (*given_)[next_of(event.worker).next()];
    if (next != event)
      throw core::ConfigError(
          core::format("cannot follow the recorded order: {} came where {} was recorded", text_of(event), text_of(next)));
    ++of_workers_[event.worker].done;
    ++(changes(event.kind) ? changes_ : event.kind == Event::Kind::take ? takes_ : fetches_).done;
  }
  ++count_;
  if (records_) events_.push_back(event);
}

}  // namespace paragrad::strategies
