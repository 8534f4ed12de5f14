#include "metrics/timeline.hpp"

#include <algorithm>
#include <string_view>

#include "core/format.hpp"

namespace paragrad::metrics {
namespace {

/// Microseconds, the format's unit.
std::string microseconds(std::int64_t ps) {
  const std::uint64_t size = ps < 0 ? -static_cast<std::uint64_t>(ps) : static_cast<std::uint64_t>(ps);
  return core::format("{}{}.{:06}", ps < 0 ? "-" : "", size / 1000000, size % 1000000);
}

class TraceWriter {
 public:
  explicit TraceWriter(std::ostream& out) : out_(out) {}

  void worker(int rank, const WorkerTimeline& worker) {
    const int own = 2 * rank, of_tasks = own + 1;
    name_row(worker.node, own, core::format("worker {}", rank));
    spans(worker.node, own, worker.own);
    if (!worker.of_tasks.empty()) {
      name_row(worker.node, of_tasks, core::format("worker {} communication", rank));
      spans(worker.node, of_tasks, worker.of_tasks);
    }
    for (const Transfer& message : worker.sent) transfer(worker.node, rank, message);
  }

  void name_process(int node) {
    event(R"("ph":"M","pid":{0},"name":"process_name","args":{{"name":"node {0}"}})", node);
    event(R"("ph":"M","pid":{0},"name":"process_sort_index","args":{{"sort_index":{0}}})", node);
  }

 private:
  template <class... Values>
  void event(fmt::format_string<Values...> text, Values&&... values) {
    out_ << (first_ ? "\n{" : ",\n{") << fmt::format(text, std::forward<Values>(values)...) << '}';
    first_ = false;
  }

  void name_row(int node, int row, const std::string& name) {
    event(R"("ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}})", node, row, name);
    event(R"("ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}})", node, row, row);
  }

  void spans(int node, int row, std::vector<Span> spans) {
    // Spans were recorded as they ended; readers expect the outer ones first.
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return std::pair(a.begin_ps, -a.end_ps) < std::pair(b.begin_ps, -b.end_ps);
    });
    for (const Span& span : spans)
      event(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":"{}")", node, row, microseconds(span.begin_ps),
            microseconds(span.end_ps - span.begin_ps), core::activity_names[static_cast<std::size_t>(span.activity)]);
  }

  void transfer(int node, int from, const Transfer& message) {
    constexpr std::string_view common = R"("cat":"transfer","id":{},"pid":{},"tid":{},"name":"worker {} sends")";
    const auto same = fmt::format(fmt::runtime(common), transfers_++, node, 2 * from, from);
    event(R"("ph":"b",{},"ts":{},"args":{{"to":{},"bytes":{}}})", same, microseconds(message.begin_ps), message.to,
          message.bytes);
    event(R"("ph":"e",{},"ts":{})", same, microseconds(message.end_ps));
  }

  std::ostream& out_;
  bool first_ = true;
  std::uint64_t transfers_ = 0;
};

}  // namespace

void write_trace(const Timeline& timeline, std::ostream& out) {
  std::uint64_t dropped = 0;
  for (const WorkerTimeline& worker : timeline.workers) dropped += worker.dropped;
  out << core::format(
      R"({{"displayTimeUnit":"ns","otherData":{{"clock":"{}","clock_error_s":{},"workers":{},"kept":"the first and last {} spans of each row","dropped":{}}},"traceEvents":[)",
      timeline.clock, timeline.clock_error_s, timeline.workers.size(), timeline.most_per_row, dropped);
  TraceWriter writer(out);
  int named = -1;
  for (std::size_t rank = 0; rank < timeline.workers.size(); ++rank) {
    const WorkerTimeline& worker = timeline.workers[rank];
    if (worker.node != named) writer.name_process(named = worker.node);
    writer.worker(static_cast<int>(rank), worker);
  }
  out << "\n]}\n";
}

}  // namespace paragrad::metrics
