#include "worlds/given_rate.hpp"

#include <utility>
#include <vector>

#include "core/format.hpp"
#include "core/options.hpp"

namespace paragrad::worlds {
namespace {

constexpr const char* option = "device-rate";
constexpr core::Limits<double> limits{.least = 0, .most = 1e12};

struct Measured {
  double samples = 0;  ///< of a minibatch
  double step_s = 0;
};

Measured parse_measured(const std::string& text) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos)
    throw core::OptionError(option, core::format("'{}' lacks the minibatch at which it was measured: 357@50", text));
  const auto rate = core::parse_number<double>(option, text.substr(0, at), {.least = 1e-9, .most = limits.most});
  const auto samples = core::parse_number<double>(option, text.substr(at + 1), {.least = 1, .most = 1e9});
  return {samples, samples / rate};
}

}  // namespace

GivenRate parse_rate(const std::string& text) {
  if (text.find_first_of("@,") == std::string::npos) return {core::parse_number<double>(option, text, limits)};
  const std::vector<std::string> pieces = core::list_of(option, text);
  if (pieces.size() != 2)
    throw core::OptionError(
        option, core::format("'{}' is neither one rate (357) nor two, each at a minibatch (357@50,700@400)", text));
  Measured small = parse_measured(pieces[0]), large = parse_measured(pieces[1]);
  if (small.samples > large.samples) std::swap(small, large);
  if (small.samples == large.samples) throw core::OptionError(option, "both rates are of the same minibatch");
  const double sample_s = (large.step_s - small.step_s) / (large.samples - small.samples);
  const double step_cost_s = small.step_s - sample_s * small.samples;
  const auto step = [](const Measured& m) {
    return core::format("a step of {} samples takes {:.3g} s", m.samples, m.step_s);
  };
  if (sample_s <= 0)
    throw core::OptionError(option,
                            core::format("{} and {}: the larger one cannot be the faster", step(small), step(large)));
  if (step_cost_s < 0)
    throw core::OptionError(option, core::format("{} and {}: no constant cost of a step explains that the rate falls",
                                                 step(small), step(large)));
  return {1 / sample_s, step_cost_s};
}

}  // namespace paragrad::worlds
