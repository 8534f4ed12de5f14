#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace paragrad::runs {

/// The row that `compare` prints for a finished run; NAN, or "" for the hash, if the run was only timed.
struct ComparedRun {
  std::string folder;
  std::string method;
  std::string options;  // in which it differs from the other runs, see differing_options()
  std::size_t splits = 0, blocks = 0;
  int workers = 0, epochs = 0;
  double valid_error = NAN, test_error = NAN;  // from 0 to 1, of targets above
  double training_s = NAN, optimise_s = NAN, aggregate_s = NAN, validate_s = NAN;
  double samples_per_s = NAN;
  double sent_bytes = NAN, received_bytes = NAN, messages = NAN;  // of a worker on average
  double exposed = NAN;                                           // from 0 to 1
  double speed_up = NAN;  // ratio of samples per second to the first run with one worker on the same clock
  std::string clock;
  std::string hash;

  // Of several runs that differ only in their seed.
  int seeds = 0;  ///< 0: one run; otherwise the numbers above are means
  double valid_deviation = NAN, test_deviation = NAN, time_deviation = NAN;  ///< standard deviations of a seed
};

/// The mean of runs that differ only in their seed, under the folder of the first.
ComparedRun mean_of(const std::vector<ComparedRun>& runs);

/// "text", "csv", "json", "markdown". CSV and JSON keep full precision; text and Markdown are rounded, with units.
std::vector<std::string> comparison_formats();

/// Throws core::ConfigError for an unknown format.
std::string comparison(const std::vector<ComparedRun>& runs, const std::string& format);

}  // namespace paragrad::runs
