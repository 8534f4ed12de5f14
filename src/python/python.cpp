#include "python/python_strategy.hpp"

namespace paragrad::strategies {
namespace {

class PythonBlock : public PythonStrategy<Strategy> {
 public:
  explicit PythonBlock(const PythonOptions& options) : PythonStrategy(options, Share::block) {}
};

}  // namespace

StrategyEntry python_entry() {
  return entry_of<PythonBlock, PythonOptions>(
      {.name = "python", .summary = "a class in Python, whose workers train on their own between two synchronisations"});
}

}  // namespace paragrad::strategies
