#include "sim/platform_readers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/format.hpp"
#include "core/join.hpp"

namespace paragrad::sim {

int count(Section& section, const std::string& key, std::optional<std::int64_t> otherwise) {
  return static_cast<int>(section.whole(key, 1, most_devices, otherwise));
}

Link read_link(Section& section) { return {section.time("latency", shortest_latency_s), section.bandwidth("bandwidth")}; }

void read_cluster(Section cluster, Platform& platform) {
  platform.nodes = count(cluster, "nodes");
  platform.devices_per_node = count(cluster, "devices_per_node");
  platform.sockets_per_node = count(cluster, "sockets_per_node", 1);
  if (cluster.has("nodes_per_leaf")) platform.nodes_per_leaf = count(cluster, "nodes_per_leaf");
  platform.taper = cluster.number("taper", 1, 1e6, 1);
  platform.spine_bytes_per_s = cluster.bandwidth("spine_bandwidth", 0);
  cluster.done();
  if (std::int64_t{platform.nodes} * platform.devices_per_node > most_devices)
    cluster.fail("nodes", core::format("{} nodes of {} devices are more than {} devices", platform.nodes,
                                       platform.devices_per_node, most_devices));
  if (platform.sockets_per_node > platform.devices_per_node)
    cluster.fail("sockets_per_node", core::format("is more than the {} devices of a node", platform.devices_per_node));
}

void read_device(Section section, Platform::Device& device) {
  device.flops_per_s = section.rate("peak");
  device.bytes_per_s = section.bandwidth("memory_bandwidth");
  device.gemm_efficiency = section.fraction("gemm_efficiency");
  device.memory_efficiency = section.fraction("memory_efficiency");
  device.launch_s = section.time("launch", 0);
  device.memory_bytes = static_cast<double>(section.bytes("memory", 1, 0));
  device.price_per_hour = section.number("price_per_hour", 0, 1e9, 0);
  section.done();
}

void read_message(Section section, Platform::Message& message) {
  message.send_overhead_s = section.time("send_overhead", 0, 0);
  message.receive_overhead_s = section.time("receive_overhead", 0, 0);
  message.gap_s = section.time("gap", 0, 0);
  message.eager_bytes = section.bytes("eager", 0);
  message.handshake = section.flag("handshake", false);
  message.copy_bytes_per_s = section.bandwidth("copy_bandwidth", 0);
  message.segment_bytes = section.bytes("segment", 1, static_cast<double>(message.segment_bytes));
  message.window = count(section, "window", message.window);
  section.done();
}

void read_size_class(Section section, std::vector<Platform::SizeClass>& classes) {
  const Platform::SizeClass read{section.bytes("from", 0), section.number("latency_factor", 1e-3, 1e3, 1),
                                 section.number("bandwidth_factor", 1e-3, 1e3, 1)};
  section.done();
  if (!classes.empty() && classes.back().from_bytes >= read.from_bytes)
    section.fail("from", "size classes must be listed with rising sizes");
  classes.push_back(read);
}

void read_host(Section section, Platform::Host& host) {
  host.bytes_per_s = section.bandwidth("memory_bandwidth");
  host.staged = section.flag("staged", false);
  host.reduces = section.flag("reduces", false);
  section.done();
}

namespace {

constexpr std::array<std::pair<const char*, comm::NcclFacts::Generation>, 4> generations{
    {{"volta", comm::NcclFacts::Generation::volta},
     {"ampere", comm::NcclFacts::Generation::ampere},
     {"hopper", comm::NcclFacts::Generation::hopper},
     {"blackwell", comm::NcclFacts::Generation::blackwell}}};

comm::NcclFacts::Measured read_measured(Section& section, const std::string& level) {
  constexpr double most = 1e3, softest = 0.2, sharpest = 10;
  comm::NcclFacts::Measured measured;
  measured.latency_factor = section.number(level + "latency_factor", 1 / most, most, 1);
  measured.bandwidth_factor = section.number(level + "bandwidth_factor", 1 / most, most, 1);
  if (section.has(level + "sharpness")) measured.sharpness = section.number(level + "sharpness", softest, sharpest);
  return measured;
}

}  // namespace

void read_reduction(Section section, Platform::Reduction& reduction) {
  constexpr std::int64_t most_in_flight = 64, shortest = 4'000, longest = 1'000'000'000;
  comm::Segmentation& cut = reduction.segmentation;
  const std::int64_t bytes = section.bytes("segment", shortest, static_cast<double>(cut.segment_floats * sizeof(float)));
  if (bytes > longest || bytes % static_cast<std::int64_t>(sizeof(float)) != 0)
    section.fail("segment", "is not a multiple of 4 bytes up to 1 GB");
  cut.segment_floats = static_cast<std::size_t>(bytes) / sizeof(float);
  cut.in_flight =
      static_cast<std::size_t>(section.whole("in_flight", 2, most_in_flight, static_cast<std::int64_t>(cut.in_flight)));
  reduction.launches = section.flag("launches", true);
  section.done();
}

comm::NcclFacts read_nccl(Section section) {
  comm::NcclFacts facts;
  const std::string word = section.word("generation");
  const auto generation = std::ranges::find(generations, word, [](const auto& one) { return std::string(one.first); });
  if (generation == generations.end())
    section.fail("generation", core::format("'{}' is not one that NCCL's constants are known for; known: volta, ampere, "
                                            "hopper, blackwell",
                                            word));
  facts.generation = generation->second;
  facts.channels = static_cast<int>(section.whole("channels", 1, 1024));
  facts.nvlink = section.flag("nvlink", true);
  facts.adds_in_switch = section.flag("adds_in_switch", false);
  facts.network_latency_s = section.time("network_latency", 0, 0);
  const std::string processor = section.has("cpu") ? section.word("cpu") : "intel";
  if (processor != "intel" && processor != "amd")
    section.fail("cpu", core::format("'{}' is neither intel nor amd, between which NCCL's constants differ", processor));
  facts.amd = processor == "amd";
  facts.inside = read_measured(section, "");
  facts.between = read_measured(section, "network_");
  const bool switches_can = facts.nvlink && facts.generation >= comm::NcclFacts::Generation::hopper;
  if (facts.adds_in_switch && !switches_can)
    section.fail("adds_in_switch", "needs NVLink switches of the generation hopper or later");
  section.done();
  return facts;
}

void read_program(Section section, Platform& platform) {
  Platform::Program& program = platform.program;
  for (const char* const key : {"step_cost", "overlap", "crowding"})
    if (section.has(key)) platform.stated.insert(core::format("program.{}", key));
  program.step_cost_s = section.time("step_cost", 0, 0);
  program.overlap = section.number("overlap", 0, 1, 1);
  program.crowding = section.number("crowding", 0, 1, 0);
  section.done();
}

Platform::Rate read_rate(Section section) {
  Platform::Rate rate{section.word("model"), section.has("series") ? section.word("series") : "",
                      section.number("samples_per_s", 1e-9, 1e15)};
  section.done();
  return rate;
}

Platform::Fit read_fit(Section section) {
  constexpr std::int64_t most_rows = 1'000'000'000;
  constexpr std::size_t most_names = 1000;
  Platform::Fit fit;
  fit.rows = section.whole("rows", 1, most_rows);
  fit.reach = section.word("reach");
  if (fit.reach != "device" && fit.reach != "node" && fit.reach != "network")
    section.fail("reach", core::format("'{}' is neither device, node nor network", fit.reach));
  fit.names = section.words("names");
  if (fit.names.size() > most_names) section.fail("names", "are too many");
  if (section.has("unmeasured")) fit.unmeasured = section.words("unmeasured", 0);
  fit.covariance = section.square("covariance", fit.names.size());
  section.done();
  return fit;
}

Platform::Storage read_storage(Section section) {
  Platform::Storage storage;
  storage.client_bytes_per_s = section.bandwidth("client_bandwidth");
  storage.read_bytes_per_s = section.bandwidth("read_bandwidth");
  storage.write_bytes_per_s = section.bandwidth("write_bandwidth");
  storage.open_s = section.time("open", 0, 0);
  storage.parallel_opens = count(section, "parallel_opens", 1);
  section.done();
  return storage;
}

void read_noise(Section section, Platform::Noise& noise) {
  constexpr double widest = 2;  // a factor of 7 either way at one sigma
  noise.seed = static_cast<std::uint64_t>(section.whole("seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
  noise.rank_sigma = section.number("rank_sigma", 0, widest, 0);
  noise.step_sigma = section.number("step_sigma", 0, widest, 0);
  section.done();
}

namespace {

using Kind = Platform::Fault::Kind;

constexpr Kind fault_kinds[] = {Kind::worker, Kind::device_link, Kind::nic, Kind::uplink};

int ids_of(const Platform& platform, Platform::Fault::Kind kind) {
  switch (kind) {
    case Platform::Fault::Kind::worker:
    case Platform::Fault::Kind::device_link:
      return platform.workers();
    case Platform::Fault::Kind::nic:
      return platform.nodes > 1 ? platform.nodes * platform.leaf.nics_per_node : 0;
    case Platform::Fault::Kind::uplink:
      return platform.leaves() > 1 ? platform.leaves() : 0;
  }
  throw std::logic_error("a kind of fault without ids");
}

Platform::Fault::Kind fault_kind(Section& section) {
  const std::string word = section.word("kind");
  std::vector<std::string> known;
  for (const Kind kind : fault_kinds) {
    if (word == name_of(kind)) return kind;
    known.push_back(name_of(kind));
  }
  section.fail("kind", core::format("'{}' is not a kind of fault; known: {}", word, core::join(known, ", ")));
}

}  // namespace

Platform::Fault read_fault(Section section, const Platform& platform) {
  Platform::Fault fault;
  fault.at_s = section.time("at", 0);
  fault.kind = fault_kind(section);
  const int ids = ids_of(platform, fault.kind);
  if (ids == 0) section.fail("kind", core::format("the platform has no {}", name_of(fault.kind)));
  fault.id = static_cast<int>(section.whole("id", 0, ids - 1));
  fault.factor = section.number("factor", 0, 1);
  fault.duration_s = section.time("duration", 1e-9, fault.duration_s);
  section.done();
  return fault;
}

Platform::Failures read_failures(Section section) {
  Platform::Failures failures;
  failures.mtbf_s = section.quantity("mtbf", core::Unit::time, 1e-3, 1e12, failures.mtbf_s);
  failures.repair_s = section.time("repair", 0);
  failures.restart_s = section.time("restart", 0);
  failures.rejoin_s = section.time("rejoin", 0, 0);
  failures.rejoin_every_s = section.time("rejoin_every", 0, 0);
  failures.save_s = section.time("save", 0, 0);
  failures.loses_work = section.has("save_every");
  if (failures.loses_work && section.word("save_every") != "auto")
    failures.save_every_s = section.time("save_every", 1e-6);
  else if (failures.loses_work && failures.save_s == 0)
    section.fail("save_every", "'auto' needs the time that saving takes: give 'save'");
  failures.seed = static_cast<std::uint64_t>(section.whole("seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
  section.done();
  return failures;
}

KernelTable read_kernel(Section section, const std::vector<KernelTable>& before) {
  constexpr std::int64_t largest = 1'000'000'000'000;
  KernelTable table{section.word("name"), {{{1}, {1}, {1}}}, {}};
  const auto kernel = backend::find_kernel(table.kernel);
  if (!kernel) section.fail("name", core::format("'{}' is not a kernel", table.kernel));
  for (const KernelTable& other : before)
    if (other.kernel == table.kernel) section.fail("name", core::format("'{}' already has a table", table.kernel));
  if (backend::kernel_kind(*kernel) == backend::KernelKind::gemm)
    table.sizes = {section.wholes("batch", 1, largest), section.wholes("inputs", 1, largest),
                   section.wholes("outputs", 1, largest)};
  else
    table.sizes[0] = section.quantities("bytes", core::Unit::bytes, 1, 1e18);
  table.time_s = section.quantities("time", core::Unit::time, 1e-12, 1000);
  if (const std::string mistake = table.mistake(); !mistake.empty()) section.fail("time", mistake);
  section.done();
  return table;
}

}  // namespace paragrad::sim
