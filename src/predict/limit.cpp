#include "predict/limit.hpp"

#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace paragrad::predict {
namespace {

/// What may limit a training, and a platform on which it is by `factor` less of a limit.
struct Resource {
  const char* name;
  std::function<bool(const sim::Platform&)> exists;
  std::function<void(sim::Platform&, double factor, bool by_nccl)> ease;  ///< null: compute
};

/// Where NCCL's model gives the times, its factors stand for the links.
std::vector<Resource> resources() {
  const auto always = [](const sim::Platform&) { return true; };
  const auto links = [](sim::Platform& p) {
    return std::array<sim::Link*, 3>{&p.peer, static_cast<sim::Link*>(&p.node), static_cast<sim::Link*>(&p.leaf)};
  };
  return {
      {"compute", always, nullptr},
      {"step cost", [](const sim::Platform& p) { return p.program.step_cost_s > 0; },
       [](sim::Platform& p, double factor, bool) { p.program.step_cost_s /= factor; }},
      {"wire", always,
       [links](sim::Platform& p, double factor, bool by_nccl) {
         if (by_nccl) p.nccl->inside.bandwidth_factor *= factor, p.nccl->between.bandwidth_factor *= factor;
         for (sim::Link* link : links(p)) link->bytes_per_s *= by_nccl ? 1 : factor;
         p.node.shared_bytes_per_s *= factor, p.spine_bytes_per_s *= factor, p.host.bytes_per_s *= factor;
       }},
      {"latency", always,
       [links](sim::Platform& p, double factor, bool by_nccl) {
         if (by_nccl) p.nccl->inside.latency_factor /= factor, p.nccl->between.latency_factor /= factor;
         for (sim::Link* link : links(p)) link->latency_s /= by_nccl ? 1 : factor;
         p.core_latency_s /= factor, p.message.send_overhead_s /= factor, p.message.receive_overhead_s /= factor;
       }},
      {"storage", [](const sim::Platform& p) { return p.storage.has_value(); },
       [](sim::Platform& p, double factor, bool) {
         p.storage->client_bytes_per_s *= factor, p.storage->read_bytes_per_s *= factor, p.storage->open_s /= factor;
       }},
      {"stragglers", [](const sim::Platform& p) { return p.noise.rank_sigma + p.noise.step_sigma > 0; },
       [](sim::Platform& p, double factor, bool) { p.noise.rank_sigma /= factor, p.noise.step_sigma /= factor; }},
  };
}

}  // namespace

Limit limit_of(const TimingRun& run, const sim::Platform& platform, double rate) {
  constexpr double factor = 1.05;
  const double samples_per_s = run.time(platform, rate).samples_per_s;
  Limit found;
  for (const Resource& resource : resources()) {
    if (!resource.exists(platform)) continue;
    sim::Platform eased = platform;
    if (resource.ease) resource.ease(eased, factor, run.collective() == "nccl");
    const double faster = run.time(eased, rate, resource.ease ? 1 : 1 / factor).samples_per_s;
    const double share = std::log(faster / samples_per_s) / std::log(factor);
    if (share > found.share) found = {resource.name, share};
  }
  return found;
}

}  // namespace paragrad::predict
