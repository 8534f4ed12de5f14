#include "sim/fitting/parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.hpp"

namespace paragrad::sim::fitting {
namespace {

using Measured = comm::NcclFacts::Measured;

template <auto section, auto value>
double* in_section(Platform& platform) {
  return &(platform.*section.*value);
}
template <auto value>
double* between_sockets(Platform& platform) {
  return platform.sockets_per_node > 1 ? &(platform.node.*value) : nullptr;
}
template <auto value>
double* between_nodes(Platform& platform) {
  return platform.leaf.bytes_per_s > 0 ? &(platform.leaf.*value) : nullptr;
}
template <auto level, auto value>
double* of_nccl(Platform& platform) {
  return platform.nccl ? &((*platform.nccl).*level.*value) : nullptr;
}

// What is known without a measurement, as standard deviations of coordinates (0.69: a factor of 2). Data sheets give
// bandwidths that programs reach in part; latencies depend on drivers and libraries; a program's own costs can be anything.
constexpr double of_bandwidth = 0.35, of_latency = 0.7, of_sharpness = 0.5, of_step_cost = 1.5, of_overlap = 1.5,
                 of_crowding = 1.2;

constexpr auto bandwidth = core::Unit::bandwidth;
constexpr auto time = core::Unit::time;
constexpr auto log = Scale::logarithm;

constexpr auto inside = &comm::NcclFacts::inside, between = &comm::NcclFacts::between;
constexpr auto program = &Platform::program;

}  // namespace

double to_coordinate(Scale scale, double value) {
  return scale == Scale::logit ? std::log(value / (1 - value)) : std::log(value);
}

double from_coordinate(Scale scale, double coordinate) {
  return scale == Scale::logit ? 1 / (1 + std::exp(-coordinate)) : std::exp(coordinate);
}

std::span<const Parameter> parameters() {
  static const std::array entries{
      Parameter{"program", "step_cost", time, log, 1e-7, 100, 1e-3, of_step_cost, false,
                in_section<program, &Platform::Program::step_cost_s>},
      Parameter{"program", "overlap", std::nullopt, Scale::logit, 0.001, 0.999, 0.5, of_overlap, false,
                in_section<program, &Platform::Program::overlap>},
      Parameter{"program", "crowding", std::nullopt, log, 1e-5, 0.5, 0.005, of_crowding, false,
                in_section<program, &Platform::Program::crowding>},
      Parameter{"peer", "latency", time, log, 1e-9, 1, 0, of_latency, false, in_section<&Platform::peer, &Link::latency_s>},
      Parameter{"peer", "bandwidth", bandwidth, log, 1e4, 1e15, 0, of_bandwidth, false,
                in_section<&Platform::peer, &Link::bytes_per_s>},
      Parameter{"node", "latency", time, log, 1e-9, 1, 0, of_latency, false, between_sockets<&Link::latency_s>},
      Parameter{"node", "bandwidth", bandwidth, log, 1e4, 1e15, 0, of_bandwidth, false, between_sockets<&Link::bytes_per_s>},
      Parameter{"leaf", "latency", time, log, 1e-9, 1, 0, of_latency, true, between_nodes<&Link::latency_s>},
      Parameter{"leaf", "bandwidth", bandwidth, log, 1e4, 1e15, 0, of_bandwidth, true, between_nodes<&Link::bytes_per_s>},
      Parameter{"nccl", "latency_factor", std::nullopt, log, 1e-2, 100, 0, of_latency, false,
                of_nccl<inside, &Measured::latency_factor>},
      Parameter{"nccl", "bandwidth_factor", std::nullopt, log, 1e-2, 10, 0, of_bandwidth, false,
                of_nccl<inside, &Measured::bandwidth_factor>},
      Parameter{"nccl", "sharpness", std::nullopt, log, 0.25, 8, 0.7, of_sharpness, false,
                of_nccl<inside, &Measured::sharpness>},
      Parameter{"nccl", "network_latency_factor", std::nullopt, log, 1e-2, 100, 0, of_latency, true,
                of_nccl<between, &Measured::latency_factor>},
      Parameter{"nccl", "network_bandwidth_factor", std::nullopt, log, 1e-2, 10, 0, of_bandwidth, true,
                of_nccl<between, &Measured::bandwidth_factor>},
      Parameter{"nccl", "network_sharpness", std::nullopt, log, 0.25, 8, 0.7, of_sharpness, true,
                of_nccl<between, &Measured::sharpness>},
  };
  return entries;
}

const Parameter* find_parameter(std::string_view name) {
  const auto found = std::ranges::find_if(parameters(), [&](const Parameter& one) { return one.name() == name; });
  return found == parameters().end() ? nullptr : &*found;
}

std::string value_text(const Parameter& parameter, double value) {
  return parameter.unit ? core::format_quantity(value, *parameter.unit) : core::format("{:.4g}", value);
}

}  // namespace paragrad::sim::fitting
