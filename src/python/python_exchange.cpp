#include "python/python_strategy.hpp"

namespace paragrad::strategies {
namespace {

class PythonExchange : public PythonStrategy<ExchangingStrategy> {
 public:
  explicit PythonExchange(const PythonOptions& options) : PythonStrategy(options, Share::minibatch) {}

  bool exchanges(int) const override { return true; }  // a worker on its own makes the same calls
  void step(comm::Worker& worker, Replica& replica) override { call("step", worker, replica); }
};

}  // namespace

StrategyEntry python_exchange_entry() {
  return entry_of<PythonExchange, PythonOptions>(
      {.name = "python_exchange", .summary = "a class in Python that exchanges the gradient of every minibatch"},
      Share::minibatch);
}

}  // namespace paragrad::strategies
