#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace paragrad::strategies {

/// Something that a server did for a worker, as far as the order matters.
struct Event {
  enum class Kind : std::int32_t {
    push = 'p',   ///< took a gradient into its shard; version: that the worker had fetched before it computed it
    fetch = 'f',  ///< sent its parameters; version: theirs
    take = 't',   ///< gave out the next split; version: its number in the epoch
    meet = 'm',   ///< noted that the worker has come to the end of the epoch
    lose = 'x'    ///< left the worker out
  };
  Kind kind = Kind::push;
  std::int32_t worker = 0;
  std::uint64_t version = 0;

  bool operator==(const Event&) const = default;
};

/// That a worker read a server's parameters out of its window when the server had done so many things.
struct UnseenFetch {
  std::uint64_t after = 0;
  std::uint64_t version = 0;
  std::int64_t worker = 0;
};

/// What must be the same of two runs, so that one can go in the order of the other: names and values.
using RunShape = std::vector<std::pair<std::string, std::string>>;

/// What all servers of a run did: enough to do it again, bit for bit.
struct Orders {
  RunShape shape;
  std::vector<std::vector<Event>> servers;
};

/// Text: one line of JSON with the shape, then the events of server after server, "p0@12". Throws ConfigError.
void write_orders(const std::string& path, const Orders& orders);

/// Throws ConfigError: missing, foreign or damaged file; one of a run that lost a worker.
Orders read_orders(const std::string& path);

/// Throws ConfigError that names the first thing in which the two differ.
void check_same_shape(const std::string& path, const RunShape& recorded, const RunShape& now);

/// The order of one server: takes it down and, where one is given, sees to it that it is kept, as far as it matters:
/// whatever changes something (gradients, ends of epochs) comes one after the other as it did, what is fetched between the
/// same two changes as before, and splits are given out as they were.
class Order {
 public:
  Order() = default;
  explicit Order(const std::vector<Event>* given);

  bool prescribed() const { return given_ != nullptr; }

  /// Whether this may be done next. Throws ConfigError where it can never be: the worker asks for something else.
  bool admits(Event::Kind kind, int worker) const;

  void note(const Event& event);

  std::size_t size() const { return events_.size(); }

  /// So far; in the end the given ones.
  const std::vector<Event>& events() const {
    return given_ != nullptr && events_.size() == given_->size() ? *given_ : events_;
  }

 private:
  /// Places of events in the given order, and how many of them have come.
  struct Queue {
    std::vector<std::size_t> places;
    std::size_t done = 0;

    bool empty() const { return done == places.size(); }
    std::size_t next() const { return places[done]; }
  };
  static bool changes(Event::Kind kind) { return kind == Event::Kind::push || kind == Event::Kind::meet; }
  const Queue& next_of(int worker) const;
  bool all_fetched_before(std::size_t place) const { return fetches_.empty() || fetches_.next() > place; }

  const std::vector<Event>* given_ = nullptr;
  std::map<int, Queue> of_workers_;
  Queue changes_, takes_, fetches_;  // of fetches the next counts as many, whichever came
  std::vector<Event> events_;
};

}  // namespace paragrad::strategies
