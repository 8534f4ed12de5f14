#include "worlds/given_rate.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/format.hpp"
#include "core/options.hpp"

namespace paragrad::worlds {
namespace {

constexpr const char* option = "device-rate";

struct Measured {
  double rate = 0;
  double samples = 0;  ///< of a minibatch

  double step_s() const { return samples / rate; }
  std::string text() const { return core::format("a minibatch of {} takes {:.3g} s", samples, step_s()); }
};

Measured parse_measured(const std::string& text) {
  constexpr std::int64_t most_samples = 1'000'000'000;
  const std::size_t at = text.find('@');
  if (at == std::string::npos)
    throw core::OptionError(option, core::format("'{}' lacks the minibatch at which it was measured: 357@50", text));
  return {core::parse_number<double>(option, text.substr(0, at), {.least = 1e-9, .most = device_rates.most}),
          static_cast<double>(
              core::parse_number<std::int64_t>(option, text.substr(at + 1), {.least = 1, .most = most_samples}))};
}

}  // namespace

GivenRate parse_rate(const std::string& text) {
  if (text.find_first_of("@,") == std::string::npos) return {core::parse_number<double>(option, text, device_rates)};
  const std::vector<std::string> pieces = core::list_of(option, text);
  if (pieces.size() != 2)
    throw core::OptionError(
        option, core::format("'{}' is neither one rate (357) nor two, each at a minibatch (357@50,700@400)", text));
  Measured small = parse_measured(pieces[0]), large = parse_measured(pieces[1]);
  if (small.samples > large.samples) std::swap(small, large);
  if (small.samples == large.samples) throw core::OptionError(option, "both rates are of the same minibatch");
  if (large.step_s() <= small.step_s())
    throw core::OptionError(
        option, core::format("{} and {}: the larger minibatch cannot take less time", small.text(), large.text()));
  if (large.rate < small.rate)
    throw core::OptionError(
        option,
        core::format("{} and {}: the larger minibatch has the lower rate, which a constant cost per step cannot explain",
                     small.text(), large.text()));
  const double sample_s = (large.step_s() - small.step_s()) / (large.samples - small.samples);
  return {1 / sample_s, std::max(0., small.step_s() - sample_s * small.samples)};
}

}  // namespace paragrad::worlds
