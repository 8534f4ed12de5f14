#include "metrics/timeline.hpp"

#include <numeric>
#include <sstream>

#include "catch.hpp"
#include "core/json.hpp"
#include "metrics/activity_totals.hpp"

using namespace paragrad;
using namespace paragrad::metrics;
using core::Activity;

TEST_CASE("a bounded list keeps its first and its last entries in order and counts the rest", "[metrics]") {
  const std::size_t limit = GENERATE(0u, 1u, 2u, 5u, 8u);
  const int added = GENERATE(0, 1, 2, 5, 6, 8, 9, 100);
  HeadTailBuffer<int> list(limit);
  for (int i = 0; i < added; ++i) list.add(i);
  const std::size_t kept = std::min<std::size_t>(limit, static_cast<std::size_t>(added));
  std::vector<int> expected;
  const int first = static_cast<int>(std::min(kept, limit - limit / 2));
  for (int i = 0; i < first; ++i) expected.push_back(i);
  for (int i = added - static_cast<int>(kept) + first; i < added; ++i) expected.push_back(i);
  CHECK(list.dropped() == static_cast<std::uint64_t>(added) - kept);
  CHECK(list.take() == expected);
}

TEST_CASE("a log keeps spans with a length, inner ones too", "[metrics]") {
  ActivityLog log(10);
  log.begin(Activity::aggregate, 1.0);
  log.begin(Activity::wait, 1.5);
  log.end(1.5);
  log.begin(Activity::reduce, 1.5);
  log.end(2.0);
  log.end(3.0);
  const std::vector<Span> spans = log.spans().take();
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].activity == Activity::reduce);
  CHECK(spans[0].begin_ps == 1'500'000'000'000);
  CHECK(spans[1].end_ps - spans[1].begin_ps == 2'000'000'000'000);
}

TEST_CASE("totals give each moment to the innermost activity and leave out what is outside of blocks", "[metrics]") {
  std::vector<std::size_t> told;
  std::vector<PeriodTimes> periods;
  ActivityLog log(100);
  ActivityTotals totals(
      2,
      [&](std::size_t synchronisation, const PeriodTimes& times) {
        told.push_back(synchronisation), periods.push_back(times);
      },
      &log);
  double now_s = 0;
  const auto span = [&](Activity activity, double before_s, const std::function<void()>& inside, double after_s) {
    totals.begin(activity, now_s);
    now_s += before_s;
    inside();
    now_s += after_s;
    totals.end(now_s);
  };
  const auto nothing = [] {};
  for (int synchronisation = 0; synchronisation < 4; ++synchronisation) {
    span(Activity::data, 1, nothing, 0);
    span(
        Activity::block, 2,
        [&] {
          span(Activity::compute, 10, nothing, 0);
          span(
              Activity::aggregate, 4,
              [&] {
                span(Activity::wait, 8, nothing, 0);
                span(Activity::reduce, 16, nothing, 0);
                span(Activity::compute, 32, nothing, 0);
              },
              0);
        },
        0);
    span(
        Activity::validate, 1000, [&] { span(Activity::wait, 1000, nothing, 0); }, 0);
  }
  REQUIRE(told == std::vector<std::size_t>{2, 4});
  for (const PeriodTimes& times : periods) {
    CHECK(times.compute_s == 2 * (10 + 32));
    CHECK(times.wait_s == 2 * (1 + 8));
    CHECK(times.communicate_s == 2 * (4 + 16));
    CHECK(times.other_s == 2 * 2);
  }
  CHECK(log.spans().take().size() == 4 * 9);
}

TEST_CASE("an error of who is told of a period comes with the next activity, and not while another error unwinds",
          "[metrics]") {
  struct Span {
    explicit Span(ActivityTotals& totals) : totals_(totals) { totals_.begin(Activity::aggregate, 0); }
    ~Span() { totals_.end(1); }
    ActivityTotals& totals_;
  };
  int told = 0;
  const auto fail = [&](std::size_t, const PeriodTimes&) {
    ++told;
    throw std::runtime_error("peer gone");
  };
  ActivityTotals totals(1, fail, nullptr);
  const auto unwinding = [&] {
    const Span span(totals);
    throw std::logic_error("first");
  };
  CHECK_THROWS_WITH(unwinding(), "first");
  CHECK(told == 0);
  { const Span span(totals); }
  CHECK(told == 1);
  CHECK_THROWS_WITH(Span(totals), "peer gone");
}

TEST_CASE("a trace is JSON with a row per worker, exact times and what was left out", "[metrics]") {
  Timeline timeline;
  timeline.clock = "wall";
  timeline.clock_error_s = 1.5e-6;
  timeline.most_per_row = 7;
  timeline.workers.resize(3);
  for (int rank = 0; rank < 3; ++rank) {
    WorkerTimeline& worker = timeline.workers[static_cast<std::size_t>(rank)];
    worker.node = rank / 2;
    worker.dropped = 5;
    worker.own = {{-2'500'000, -1'000'000, Activity::compute}, {-2'500'000, 1'234'567, Activity::block}};
    worker.sent = {{3, 1'000'000'000'000'000'001, 2, 4096}};
  }
  timeline.workers[1].of_tasks = {{1, 2, Activity::task}};
  std::ostringstream out;
  write_trace(timeline, out);
  const core::Json trace = core::Json::parse(out.str());
  CHECK(trace["otherData"]["clock"] == "wall");
  CHECK(trace["otherData"]["clock_error_s"] == 1.5e-6);
  CHECK(trace["otherData"]["dropped"] == 15);
  int blocks = 0, tasks = 0, begun = 0, processes = 0;
  for (const core::Json& event : trace["traceEvents"]) {
    const std::string name = event["name"];
    if (event["ph"] == "X") CHECK(event["pid"] == event["tid"].get<int>() / 4);
    if (name == "block") {
      CHECK(event["tid"] == 2 * blocks++);
      CHECK(event["ts"].get<double>() == -2.5);
      CHECK(event["dur"].get<double>() == 3.734567);
    }
    tasks += name == "communication task";
    begun += event["ph"] == "b" && event["args"]["bytes"] == 4096;
    processes += name == "process_name";
  }
  CHECK(blocks == 3);
  CHECK(tasks == 1);
  CHECK(begun == 3);
  CHECK(processes == 2);
  CHECK_THAT(out.str(), contains_text("\"ts\":-2.500000,\"dur\":1.500000") && contains_text("\"ts\":1000000000000.000001"));
}

TEST_CASE("a trace of no workers is JSON too", "[metrics]") {
  std::ostringstream out;
  write_trace({}, out);
  CHECK(core::Json::parse(out.str())["traceEvents"].empty());
}

TEST_CASE("a span that begins with the run begins at 0", "[metrics]") {
  Timeline timeline;
  timeline.workers.resize(1);
  timeline.workers[0].own = {{0, 1, Activity::compute}};
  std::ostringstream out;
  write_trace(timeline, out);
  CHECK_THAT(out.str(), contains_text("\"ts\":0.000000,\"dur\":0.000001"));
}
