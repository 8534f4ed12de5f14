#include "python/python_strategy.hpp"

namespace paragrad::strategies {
namespace {

class PythonMeeting : public PythonStrategy<MeetingStrategy> {
 public:
  explicit PythonMeeting(const PythonOptions& options) : PythonStrategy(options) {}

  std::size_t next_meeting(std::size_t round, std::size_t rounds) override {
    const std::size_t next = ask("next_meeting", round, rounds);
    if (next <= round || next > rounds)
      throw core::ConfigError(core::format("{}.next_meeting({}, {}) must return a number from {} to {}, not {}", name(),
                                           round, rounds, round + 1, rounds, next));
    return next;
  }
  void meet(comm::Worker& worker, Replica& replica, const Meeting& at) override {
    call("meet", worker, replica, at.samples);
  }
};

}  // namespace

StrategyEntry python_meeting_entry() {
  return entry_of<PythonMeeting, PythonOptions>(
      {.name = "python_meeting", .summary = "a class in Python whose workers also meet between the minibatches of a block"});
}

}  // namespace paragrad::strategies
