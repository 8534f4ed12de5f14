#include "predict/measured_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "cli/option_values.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/numbers.hpp"
#include "core/printable.hpp"
#include "core/units.hpp"
#include "data/csv_reader.hpp"
#include "data/gzip_file.hpp"

namespace paragrad::predict {
namespace {

constexpr std::size_t most_rows = 1000;  // each of which takes seconds

/// The rows so far; several measurements of the same are one.
class Rows {
 public:
  MeasuredRow* find(const std::string& key) {
    const auto found = places_.find(key);
    return found == places_.end() ? nullptr : &rows_[found->second];
  }
  MeasuredRow& add(const std::string& key, MeasuredRow row) {
    if (rows_.size() == most_rows)
      throw core::ConfigError(
          core::format("{}: these are more than {} different measurements, too many for a fit", row.where, most_rows));
    places_[key] = rows_.size();
    rows_.push_back(std::move(row));
    return rows_.back();
  }
  std::vector<MeasuredRow> take() {
    for (MeasuredRow& row : rows_) std::ranges::sort(row.times_s);
    return std::move(rows_);
  }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<MeasuredRow> rows_;
};

/// Refuses with the place of what is wrong.
class Place {
 public:
  Place(const std::string& file, std::size_t line) : text_(core::format("'{}', line {}", core::printable(file), line)) {}

  [[noreturn]] void refuse(const std::string& why) const { throw core::ConfigError(core::format("{}: {}", text_, why)); }

  double positive(std::string_view name, const std::string& text) const {
    constexpr double least = 1e-12, most = 1e15;
    const auto number = core::number_of<double>(text);
    if (!number || !(*number > 0))
      refuse(core::format("{} is '{}', which is no number above 0", name, core::printable(text)));
    if (*number < least || *number > most)
      refuse(core::format("{} is {}, which is outside {} … {}", name, core::printable(text), least, most));
    return *number;
  }
  int count(std::string_view name, const std::string& text) const {
    constexpr int most = 1'000'000;
    const auto number = core::number_of<int>(text);
    if (!number || *number < 1 || *number > most)
      refuse(core::format("{} is '{}', which is no whole number from 1 to {}", name, core::printable(text), most));
    return *number;
  }
  double time(const std::string& text) const {
    const double seconds = guarded<double>([&] { return core::parse_quantity(text, core::Unit::time); });
    if (!(seconds > 0)) refuse(core::format("a time of '{}' is not above 0", core::printable(text)));
    return seconds;
  }

  /// What the function returns; its ConfigError gets the place.
  template <class T>
  T guarded(const std::function<T()>& function) const {
    try {
      return function();
    } catch (const core::ConfigError& error) {
      refuse(error.what());
    }
  }

 private:
  std::string text_;
};

comm::Operation operation_named(const std::string& name) { return comm::parse_operation(name); }

/// The number of floats of an array whose length is given in bytes.
std::size_t floats_of(const Place& place, double bytes) {
  constexpr double most = 1e15;
  const auto floats = static_cast<std::size_t>(std::clamp(bytes, 0., most) / sizeof(float));
  if (bytes > most || static_cast<double>(floats) * sizeof(float) != bytes || floats == 0)
    place.refuse(core::format("{} bytes are not a whole number of float32 values (4 bytes each)", bytes));
  return floats;
}

MeasuredRow collective_row(const Place& place, const std::string& operation, const std::string& algorithm, int workers,
                           double bytes) {
  MeasuredRow row;
  if (workers < 2) place.refuse("a collective operation of one worker takes no time: give two or more");
  row.workers = workers;
  row.floats = floats_of(place, bytes);
  row.collective.operation = operation;
  row.collective.collective = algorithm;
  row.collective.device = "meta";
  row.collective.repeat = 1;
  place.guarded<void>([&] { comm::check_algorithm(operation_named(operation), algorithm); });
  row.what = core::format("{} of {} on {}", operation, core::format_quantity(bytes, core::Unit::bytes), workers);
  return row;
}

// ---- tables

/// The columns that hold what was measured; all others say of what.
constexpr std::string_view measures[] = {"samples_per_s", "s_per_step", "time"};

/// A record by the names of its columns.
class Record {
 public:
  Record(const std::vector<std::string>& names, const std::vector<std::string>& fields, Place place)
      : place(std::move(place)) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!fields[i].empty()) fields_[names[i]] = fields[i];
  }

  bool has(const std::string& name) const { return fields_.contains(name); }

  /// "" if it is empty. Removes it.
  std::string take(const std::string& name) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return "";
    std::string text = std::move(found->second);
    fields_.erase(found);
    return text;
  }
  std::string need(const std::string& name) {
    if (!has(name)) place.refuse(core::format("{} is missing", name));
    return take(name);
  }
  const std::map<std::string, std::string>& left() const { return fields_; }

  /// All of it.
  std::string text() const {
    std::string text;
    for (const auto& [name, value] : fields_) text += core::format("{}={}\n", name, value);
    return text;
  }

  Place place;

 private:
  std::map<std::string, std::string> fields_;
};

MeasuredRow training_row(Record& record) {
  MeasuredRow row;
  const Place& place = record.place;
  row.workers = place.count("workers", record.need("workers"));
  const std::string model = record.need("model");
  const std::string bytes = record.take("bytes");
  std::vector<std::string> words{core::format("--model={}", model), core::format("--workers={}", row.workers)};
  if (record.has("minibatch") == record.has("minibatch-per-worker"))
    place.refuse("give minibatch (of all workers together) or minibatch-per-worker");
  const std::string each = record.take("minibatch-per-worker");
  for (const char* const name : {"platform", "config", "out"})
    if (record.has(name)) place.refuse(core::format("a row has no {}", name));
  for (const auto& [name, value] : record.left()) words.push_back(core::format("--{}={}", name, value));
  row.what = core::format("{} on {}", model, row.workers);
  const auto make = [&](std::int64_t factor) {
    auto all = words;
    if (!each.empty()) all.push_back(core::format("--minibatch={}", factor * place.count("minibatch-per-worker", each)));
    return place.guarded<TimingRun>([&] { return TimingRun(all); });
  };
  row.training.emplace(make(row.workers));
  if (!each.empty() && !row.training->shares_minibatches()) row.training.emplace(make(1));
  if (!bytes.empty() && place.positive("bytes", bytes) != static_cast<double>(row.training->gradient_bytes()))
    place.refuse(core::format("the gradients of {} have {} bytes, not {}", model, row.training->gradient_bytes(), bytes));
  return row;
}

MeasuredRow collective_row(Record& record) {
  const std::string operation = record.need("operation"), algorithm = record.take("collective");
  const int workers = record.place.count("workers", record.need("workers"));
  const double bytes = record.place.guarded<double>([&] { return cli::parse_size("bytes", record.need("bytes"), 0, 1e15); });
  const std::string given = algorithm.empty() ? CollectiveSettings{}.collective : algorithm;
  MeasuredRow row = collective_row(record.place, operation, given, workers, bytes);
  if (!record.left().empty())
    record.place.refuse(core::format("a row of a collective has no {}", core::printable(record.left().begin()->first)));
  return row;
}

MeasuredRow row_of(Record record) {
  const std::string use = record.take("use"), series = record.take("series");
  if (use != "" && use != "fit" && use != "predict")
    record.place.refuse(core::format("use is '{}': write fit or predict", core::printable(use)));
  MeasuredRow row = record.has("operation") ? collective_row(record) : training_row(record);
  row.fits = use != "predict";
  row.series = series;
  if (!series.empty()) row.what += core::format(" ({})", core::printable(series));
  return row;
}

/// What was measured, in the unit of the row's times; 0: nothing.
double measured(const Place& place, const MeasuredRow& row, const std::map<std::string_view, std::string>& given) {
  if (given.empty() && row.fits)
    place.refuse("nothing was measured: give samples_per_s, s_per_step or, of a collective, time");
  if (given.empty()) return 0;
  const auto& [name, text] = *given.begin();
  if (given.size() > 1) place.refuse(core::format("give {} or {}, not both", name, std::next(given.begin())->first));
  if ((name == "time") != !row.training)
    place.refuse(row.training ? "of a training give samples_per_s or s_per_step, not time"
                              : "of a collective give its time");
  if (name == "time") return place.time(text);
  const double value = place.positive(name, text);
  return name == "samples_per_s" ? 1 / value : value / static_cast<double>(row.training->samples_per_step());
}

std::vector<std::string> names_of(const std::string& file, const data::CsvRecord& header) {
  std::vector<std::string> names;
  std::set<std::string> before;
  const Place place(file, header.line);
  for (std::string name : header.fields) {
    if (name.empty()) place.refuse("a column has no name");
    if (name != "samples_per_s" && name != "s_per_step") std::ranges::replace(name, '_', '-');
    if (!before.insert(name).second) place.refuse(core::format("there are two columns '{}'", core::printable(name)));
    names.push_back(std::move(name));
  }
  if (!before.contains("workers"))
    place.refuse("this is neither a table with a column 'workers' nor the output of nccl-tests");
  return names;
}

std::string where_of(const std::string& file, std::size_t line) {
  return core::format("{}:{}", file.substr(file.find_last_of('/') + 1), line);
}

void read_table(const std::string& path, Rows& rows) {
  data::GzipFile file(path);
  data::CsvReader reader(file, '\0');
  data::CsvRecord line;
  if (!reader.next(line)) throw core::ConfigError(core::format("'{}' is empty", core::printable(path)));
  const std::vector<std::string> names = names_of(path, line);
  bool is_empty = true;
  for (; reader.next(line); is_empty = false) {
    const Place place(path, line.line);
    if (line.fields.size() != names.size())
      place.refuse(core::format("{} fields for {} columns", line.fields.size(), names.size()));
    Record record(names, line.fields, place);
    std::map<std::string_view, std::string> given;
    for (const std::string_view name : measures)
      if (std::string text = record.take(std::string(name)); !text.empty()) given[name] = std::move(text);
    const std::string key = record.text();
    MeasuredRow* row = rows.find(key);
    if (row == nullptr) {
      MeasuredRow made = row_of(std::move(record));
      made.where = where_of(path, line.line);
      row = &rows.add(key, std::move(made));
    }
    if (const double time_s = measured(place, *row, given); time_s > 0) row->times_s.push_back(time_s);
  }
  if (is_empty) throw core::ConfigError(core::format("'{}' has names of columns, and no row", core::printable(path)));
}

// ---- nccl-tests

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

/// Whether the beginning of a file is that of nccl-tests.
bool is_nccl_tests(const std::string& text) {
  return text.find("busbw") != std::string::npos && text.find("algbw") != std::string::npos && text.find('#') < 4096;
}

std::string beginning_of(const std::string& path, std::size_t most) {
  data::GzipFile file(path);
  std::vector<std::uint8_t> bytes(most);
  std::size_t size = 0;
  while (const std::size_t read = file.read(std::span(bytes).subspan(size))) size += read;
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

}  // namespace

int nodes_of(const MeasuredRow& row, const sim::Platform& platform) {
  return row.training ? row.training->nodes(platform)
                      : (row.workers + platform.devices_per_node - 1) / platform.devices_per_node;
}

void require_network(const MeasuredRow& row, const sim::Platform& platform) {
  const int nodes = nodes_of(row, platform);
  if (nodes > 1 && platform.leaf.bytes_per_s == 0)
    throw core::ConfigError(core::format("{}: {} workers need {} nodes, and the platform '{}' has no section [leaf]",
                                         row.where, row.workers, nodes, core::printable(platform.name)));
}

double time_of(const MeasuredRow& row, sim::Platform platform) {
  require_network(row, platform);
  platform.nodes = std::max(platform.nodes, nodes_of(row, platform));
  return emulate_once(row.collective, platform, row.workers, row.floats).least_s();
}

sim::fitting::Row row_of_collective(const MeasuredRow& row, const sim::Platform& platform) {
  using sim::fitting::Reach;
  const Reach reach = row.workers == 1 ? Reach::device : nodes_of(row, platform) == 1 ? Reach::node : Reach::network;
  sim::fitting::Row made{.name = row.what, .reach = reach, .by_nccl = row.collective.collective == "nccl"};
  made.time = [row](const sim::Platform& where, double) { return sim::fitting::Timed{time_of(row, where), 1}; };
  return made;
}

std::vector<MeasuredRow> read_measured_rows(const std::vector<std::string>& files, const std::string& operation) {
  constexpr std::size_t longest_output = 1 << 20;  // of nccl-tests
  Rows rows;
  bool is_used = operation.empty();
  for (const std::string& path : files) {
    const std::string text = beginning_of(path, longest_output);
    if (is_nccl_tests(text) && text.size() == longest_output)
      throw core::ConfigError(core::format("'{}' is too long for the output of nccl-tests", core::printable(path)));
    is_used = is_used || is_nccl_tests(text);
    if (is_nccl_tests(text))
      read_nccl_tests(path, text, operation, rows);
    else
      read_table(path, rows);
  }
  if (!is_used && !files.empty())
    throw core::ConfigError("--operation is for the output of nccl-tests, and none of the files is one: leave it out");
  return rows.take();
}

double MeasuredRow::median_s() const {
  const std::size_t half = times_s.size() / 2;
  if (times_s.empty()) return 0;
  return times_s.size() % 2 == 1 ? times_s[half] : std::sqrt(times_s[half - 1] * times_s[half]);
}

}  // namespace paragrad::predict
