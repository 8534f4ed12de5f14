#include "python/python_strategy.hpp"

namespace paragrad::strategies {

StrategyEntry python_entry() {
  return entry_of<PythonStrategy<Strategy>, PythonOptions>(
      {.name = "python", .summary = "a class in Python, whose workers train on their own between two synchronisations"});
}

}  // namespace paragrad::strategies
