#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace paragrad::strategies {

/// An action of a server for a worker whose order matters.
struct Event {
  enum class Kind : std::int32_t {
    push = 'p',   ///< took a gradient into its shard; version: of the parameters it was computed with
    fetch = 'f',  ///< sent its parameters; version: theirs
    take = 't',   ///< gave out the next split; version: its number in the epoch
    meet = 'm',   ///< recorded that the worker reached the end of the epoch
    lose = 'x'    ///< dropped the worker
  };
  Kind kind = Kind::push;
  std::int32_t worker = 0;
  std::uint64_t version = 0;

  bool operator==(const Event&) const = default;
};

/// A worker's read of a server's parameters from its window, after the server's first `after` events.
struct UnseenFetch {
  std::uint64_t after = 0;
  std::uint64_t version = 0;
  std::int64_t worker = 0;
};

/// The properties (names and values) in which two runs must agree so that one can replay the order of the other.
using RunShape = std::vector<std::pair<std::string, std::string>>;

/// The actions of all servers of a run: enough to replay it, bit for bit.
struct Orders {
  RunShape shape;
  std::vector<std::vector<Event>> servers;
};

/// Writes a text file: one line of JSON with the shape, then the events of each server, "p0@12". Throws ConfigError.
void write_orders(const std::string& path, const Orders& orders);

/// Throws ConfigError: missing, foreign or damaged file; file of a run that lost a worker.
Orders read_orders(const std::string& path);

/// Throws ConfigError that names the first difference.
void check_same_shape(const std::string& path, const RunShape& recorded, const RunShape& now);

/// Records the order of one server's events and, if an order is given, enforces it as far as it matters: changes (gradients,
/// ends of epochs) happen in the recorded order, each fetch falls between the same two changes, and splits are given out as
/// recorded.
class Order {
 public:
  /// given: may be null. records: keeps the events for events(); otherwise only counts them.
  explicit Order(const std::vector<Event>* given, bool records = true);

  bool prescribed() const { return given_ != nullptr; }

  /// Whether this may be done next. Throws ConfigError if it never can, because the worker's recorded request is different.
  bool admits(Event::Kind kind, int worker) const;

  void note(const Event& event);

  std::size_t size() const { return count_; }

  /// The events so far; once all given events have happened, the given ones.
  const std::vector<Event>& events() const { return given_ != nullptr && count_ == given_->size() ? *given_ : events_; }

 private:
  /// Positions of events in the given order, and how many of them have happened.
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
  Queue changes_, takes_,
      fetches_;  // fetches_ only counts: its next is the first not yet reached, whichever fetches happened
  bool records_;
  std::size_t count_ = 0;
  std::vector<Event> events_;  // of 16 bytes each, until the run ends
};

}  // namespace paragrad::strategies
