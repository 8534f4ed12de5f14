#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/platform.hpp"
#include "sim/platform_section.hpp"

namespace paragrad::sim {

// The sections of a platform file, read one by one: sim/platform-format.md has all keys. All throw ConfigError.

inline constexpr std::int64_t most_devices = 10'000'000;

// No message may arrive in the instant in which it was sent: the order within an instant would then depend on hops.
inline constexpr double shortest_latency_s = 1e-9;

int count(Section& section, const std::string& key, std::optional<std::int64_t> otherwise = {});
Link read_link(Section& section);
void read_cluster(Section cluster, Platform& platform);
void read_device(Section section, Platform::Device& device);
void read_message(Section section, Platform::Message& message);
void read_size_class(Section section, std::vector<Platform::SizeClass>& classes);
void read_host(Section section, Platform::Host& host);
void read_reduction(Section section, Platform::Reduction& reduction);
comm::NcclFacts read_nccl(Section section);
void read_program(Section section, Platform& platform);
Platform::Rate read_rate(Section section);
Platform::Fit read_fit(Section section);
Platform::Storage read_storage(Section section);
void read_noise(Section section, Platform::Noise& noise);
Platform::Fault read_fault(Section section, const Platform& platform);
Platform::Failures read_failures(Section section);
KernelTable read_kernel(Section section, const std::vector<KernelTable>& before);

}  // namespace paragrad::sim
