#include "runs/environment.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "backend/backend_info.hpp"
#include "backend/device.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "core/build_info.hpp"
#include "core/json.hpp"
#include "data/hdf5_version.hpp"
#include "system/cores.hpp"

namespace paragrad::runs {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

core::Json environment(std::string_view device) {
  const core::BuildInfo build = core::build_info();
  core::Json found = {
      {"program",
       {{"version", build.version},
        {"commit", build.commit},
        {"dirty_sha256", build.dirty_sha256},
        {"compiler", build.compiler},
        {"flags", build.flags},
        {"build_type", build.build_type},
        {"mpi", comm::mpi_description()},
        {"blas", backend::blas_description()},
        {"cuda", backend::cuda_description()},
        {"hdf5", data::hdf5_version()}}},
      {"host", {{"name", host_name()}, {"processor", processor_name()}, {"cores", system::available_cores()}}},
  };
  for (const core::AddedSource& source : core::added_sources()) found["program"]["added"][source.file] = source.sha256;
  if (!device.empty())
    if (const std::string hardware = backend::make_device(device)->hardware(); !hardware.empty())
      found["host"]["device"] = hardware;
  return found;
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace paragrad::runs
