#include <cmath>
#include <optional>
#include <sstream>

#include "predict/row_reader.hpp"

namespace paragrad::predict {
namespace {

/// What its output says of the workers: "#  Rank  3 Group  0 Pid  512 on host-a device  3 [0x86] NVIDIA H100".
bool is_rank(const std::string& line) {
  return line.find(" Rank ") != std::string::npos && line.find(" Pid ") != std::string::npos;
}

constexpr std::string_view programs[][2] = {{"all_reduce_perf", "allreduce"},
                                            {"all_gather_perf", "all_gather"},
                                            {"reduce_scatter_perf", "reduce_scatter"},
                                            {"broadcast_perf", "broadcast"},
                                            {"alltoall_perf", "all_to_all"}};

/// By what the names of the program say, and else by the reduction and the ratio of the two bandwidths.
std::string operation_of(const Place& place, const std::string& reduction, double ratio, int workers) {
  const double share = 1 - 1. / workers;
  const bool twice = std::abs(ratio - 2 * share) < 0.02, once = std::abs(ratio - share) < 0.02;
  if (workers > 2 && reduction == "sum" && twice) return "allreduce";
  if (workers > 2 && reduction == "sum" && once) return "reduce_scatter";
  place.refuse("this does not say which operation nccl-tests measured: give it with --operation");
}

struct NcclLine {
  std::size_t number;
  double bytes, time_us, algorithm, bus;  // GB/s
  std::string reduction;

  /// Whether the columns are those that they are taken for.
  bool is_consistent() const {
    constexpr double rounding = 0.06, readable = 0.5;
    return algorithm < readable || std::abs(bytes / time_us / 1e3 / algorithm - 1) < rounding;
  }
};

std::optional<NcclLine> nccl_line(const std::string& line, std::size_t number) {
  std::istringstream fields(line);
  NcclLine one{.number = number, .bytes = 0, .time_us = 0, .algorithm = 0, .bus = 0, .reduction = {}};
  double count = 0;
  std::string type, root;
  if (!(fields >> one.bytes >> count >> type >> one.reduction >> root >> one.time_us >> one.algorithm >> one.bus)) return {};
  return one.bytes < sizeof(float) || !(one.time_us > 0) ? std::nullopt : std::optional(one);
}

/// What nccl-tests has printed.
struct NcclOutput {
  int workers = 0;
  std::string operation;  // as its program's name says; "" if it does not stand there
  std::vector<NcclLine> lines;
};

NcclOutput parse_nccl_tests(const std::string& path, const std::string& text) {
  NcclOutput output;
  std::istringstream stream(text);
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    const Place place(path, number);
    if (is_rank(line)) {
      if (!output.lines.empty()) place.refuse("here begins another output of nccl-tests: give it as a file of its own");
      ++output.workers;
    }
    for (const auto& [program, name] : programs)
      if (line.find(program) != std::string::npos) output.operation = name;
    const auto one = nccl_line(line, number);
    if (!one) continue;
    if (!one->is_consistent()) place.refuse("the bandwidth is not the size over the time, as in the columns of nccl-tests");
    output.lines.push_back(*one);
  }
  return output;
}

}  // namespace

void read_nccl_tests(const std::string& path, const std::string& text, std::string operation, Rows& rows) {
  const NcclOutput output = parse_nccl_tests(path, text);
  const Place beginning(path, 1);
  if (output.workers < 2) beginning.refuse("nccl-tests ran on fewer than two ranks, or its lines '# Rank …' are missing");
  if (output.lines.empty()) beginning.refuse("nccl-tests has measured nothing");
  if (!operation.empty() && !output.operation.empty() && operation != output.operation)
    beginning.refuse(core::format("this is the output of {}, not of {}", output.operation, operation));
  if (operation.empty()) operation = output.operation;
  const NcclLine& longest = output.lines.back();
  if (operation.empty())
    operation = operation_of(Place(path, longest.number), longest.reduction,
                             longest.algorithm > 0.5 ? longest.bus / longest.algorithm : 0, output.workers);
  for (const NcclLine& one : output.lines) {
    const double whole = std::floor(one.bytes / sizeof(float)) * sizeof(float);
    MeasuredRow made = collective_row(Place(path, one.number), operation, "nccl", output.workers, whole);
    made.where = where_of(path, one.number);
    const std::string key = core::format("{} {} {}", operation, output.workers, whole);
    MeasuredRow* const row = rows.find(key);
    (row != nullptr ? *row : rows.add(key, std::move(made))).times_s.push_back(one.time_us * 1e-6);
  }
}

}  // namespace paragrad::predict
