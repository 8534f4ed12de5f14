#pragma once

#include <string>
#include <vector>

#include "core/json_fwd.hpp"

namespace paragrad::search {

/// A line of the table of a search. Values of the seeds; NaN where a run failed or has none.
struct SearchedConfiguration {
  std::string name;                 ///< 003
  std::vector<std::string> values;  ///< of the options that vary
  int epochs = 0;                   ///< trained
  bool to_the_end = false;
  std::vector<double> measures, test_errors;
  std::vector<std::string> remarks;  ///< see RunRecord::remark

  double score() const;       ///< mean of the measures
  double test_error() const;  ///< mean over the seeds
};

/// Best first: configurations that went to the end, then those stopped at a rung, the last rung first, then failures.
void rank(std::vector<SearchedConfiguration>& configurations);

/// All that is known, configuration by configuration: text for the values of options, null for NaN.
core::Json search_json(const std::vector<std::string>& options, const std::string& measure,
                       const std::vector<SearchedConfiguration>& configurations);

/// Means and standard deviations over the seeds, errors in percent.
std::string search_table(const std::vector<std::string>& options, const std::string& measure,
                         const std::vector<SearchedConfiguration>& configurations);

}  // namespace paragrad::search
