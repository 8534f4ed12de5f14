#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"

namespace paragrad::search {

/// A line of the table of a search. Values of the seeds; NaN where a run failed or has none.
struct SearchedConfiguration {
  std::string name;                 ///< 003
  std::string method;               ///< empty in a search without [[run]]
  std::vector<std::string> values;  ///< of the options that vary; empty for one that the method does not have
  int epochs = 0;                   ///< trained
  bool to_the_end = false;
  std::vector<double> measures, test_errors;
  std::vector<double> sent_bytes;    ///< by a worker on average
  std::vector<double> training_s;    ///< on the clock of the runs
  std::vector<std::string> remarks;  ///< see RunRecord::remark

  double score() const;       ///< mean of the measures
  double test_error() const;  ///< mean over the seeds
};

using Searched = std::vector<SearchedConfiguration>;

/// Best first: configurations that went to the end, then those stopped at a rung, the last rung first, then failures.
void rank(Searched& configurations);

/// The best configuration of each method, best first. ranked: by rank().
Searched best_of_methods(const Searched& ranked);

/// All that is known, configuration by configuration: text for the values of options, null for NaN.
core::Json search_json(const std::vector<std::string>& options, const std::string& measure, const Searched& configurations);

/// Means over the seeds with what Spread says.
enum class Spread {
  deviation,  ///< standard deviation of a seed
  interval,   ///< half of the 95 % confidence interval of the mean
};

/// A line per configuration; errors in percent.
std::string search_table(const std::vector<std::string>& options, const std::string& measure, const Searched& configurations,
                         Spread spread);

}  // namespace paragrad::search
