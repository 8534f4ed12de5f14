#include "data/partitioning.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/json.hpp"
#include "data/describe.hpp"
#include "data/partitioners/partitioner.hpp"
#include "data/row_stream.hpp"
#include "data/verify.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

/// 1200 samples in 240 utterances of 5 with a label each, of 10 classes of different size; 60 clients, 24 speakers.
DatasetInfo clients_file(const std::string& path) {
  DatasetInfo info;
  info.name = "clients";
  info.dim = 1;
  info.classes = 10;
  info.widths.clients = 1;
  DatasetWriter writer(path, info);
  writer.begin(Subset::train, 1200);
  for (std::size_t u = 0; u < 240; ++u) {
    const auto label = static_cast<std::int32_t>(std::min<std::size_t>(u % 16, 9));
    const std::vector<float> features(5, 1.f);
    const std::vector<std::int32_t> labels(5, label);
    ColumnValues columns;
    columns.clients.assign(5, static_cast<std::int32_t>(3 * (u % 60)));
    writer.append(std::span<const float>(features), std::span<const std::int32_t>(labels), views_of(columns));
    writer.end_sequence(core::format("u{}", u), core::format("speaker {}", u / 10));
  }
  return writer.finish();
}

std::vector<std::uint32_t> rows_of(const Partition& partition, std::size_t worker) {
  std::vector<std::uint32_t> rows;
  for (std::size_t block = 0; block < partition.blocks(); ++block) {
    const auto split = partition.split(block, worker);
    rows.insert(rows.end(), split.begin(), split.end());
  }
  return rows;
}

/// Each entry that can divide the file, with its example; with groups of each kind.
std::vector<std::string> kinds() {
  std::vector<std::string> kinds{"grouped:speaker", "grouped:client"};
  for (const core::EntryInfo& entry : partitioner_catalogue().entries)
    if (entry.name != "stored") kinds.push_back(entry.name + entry.example);
  return kinds;
}

}  // namespace

TEST_CASE("a partition of any kind holds each sample once, in splits that are not empty, and is kept by the file",
          "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  clients_file(path);
  const auto dataset = Dataset::open(path);
  const bool whole = GENERATE(false, true);
  for (const std::string& kind : kinds())
    for (const auto& [workers, blocks] : {std::pair(1, 1), {3, 1}, {4, 3}}) {
      INFO(kind << " " << workers << "x" << blocks << (whole ? " of utterances" : ""));
      const auto units = whole ? PartitionUnits::of_utterances(*dataset) : PartitionUnits::of_samples(*dataset);
      const Partition partition = divide(units, kind, workers, blocks, 5);
      CHECK(partition.kind() == kind);
      CHECK(partition.has_whole_utterances() == whole);
      std::set<std::uint32_t> seen;
      for (std::size_t worker = 0; worker < partition.workers(); ++worker) {
        const auto rows = rows_of(partition, worker);
        seen.insert(rows.begin(), rows.end());
        for (std::size_t block = 0; block < partition.blocks(); ++block) CHECK_FALSE(partition.split(block, worker).empty());
      }
      CHECK(seen.size() == 1200);
      CHECK(partition.samples() == 1200);
      if (workers == 1) continue;
      const auto again = divide(units, kind, workers, blocks, 5), other = divide(units, kind, workers, blocks, 6);
      CHECK(rows_of(again, 1) == rows_of(partition, 1));
      CHECK(rows_of(other, 1) != rows_of(partition, 1));
      if (blocks == 1) continue;
      partition.store(path);
      const auto found = Partition::find(*Dataset::open(path), workers, blocks, 5, kind);
      REQUIRE(found.has_value());
      CHECK(found->kind() == kind);
      CHECK(rows_of(*found, 2) == rows_of(partition, 2));
      CHECK_THROWS_WITH(partition.store(path), contains_text("already has a partition"));
    }
  CHECK(verify(path).empty());
  const core::Json described = describe(*Dataset::open(path))["partitions"];
  CHECK(described.size() == kinds().size());
  for (const core::Json& one : described) CHECK(one["label_distance"].get<double>() >= 0);
}

TEST_CASE("each kind makes the workers differ in what it names", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  clients_file(path);
  const auto dataset = Dataset::open(path);
  const auto units = PartitionUnits::of_samples(*dataset);
  const auto spread = [&](const std::string& kind) { return spread_of(divide(units, kind, 4, 2, 1), dataset.get()); };
  const auto distance = [&](const std::string& kind) { return spread(kind).label_distance; };
  CHECK(distance("random") < 0.1);
  CHECK(distance("dirichlet:1000") < 0.1);
  CHECK(distance("dirichlet:0.1") > distance("dirichlet:1"));
  CHECK(distance("dirichlet:1") > distance("dirichlet:100"));
  CHECK(distance("dirichlet_equal:1") > distance("dirichlet_equal:1000"));
  CHECK(distance("sizes:0.3") < 0.2);  // a worker has few samples
  CHECK(spread("sizes:0.3").most > 2 * spread("sizes:0.3").least);
  for (const char* kind : {"random", "dirichlet_equal:0.1", "shards:2", "contiguous"})
    CHECK(spread(kind).most <= spread(kind).least + 1);

  const auto labels_of = [&](const std::string& kind) {
    std::vector<std::set<std::int32_t>> labels(4);
    const Partition partition = divide(units, kind, 4, 2, 1);
    for (std::size_t worker = 0; worker < 4; ++worker)
      for (const std::uint32_t row : rows_of(partition, worker)) labels[worker].insert(dataset->label(Subset::train, row));
    return labels;
  };
  std::size_t classes = 0;
  for (const auto& labels : labels_of("grouped:label")) classes += labels.size();
  CHECK(classes == 10);  // no class at two workers
  for (const auto& labels : labels_of("shards:1")) CHECK(labels.size() <= 5);

  const Partition by_client = divide(units, "grouped:client", 4, 2, 1),
                  by_speaker = divide(units, "grouped:speaker", 4, 2, 1);
  std::map<std::int32_t, std::set<std::size_t>> workers_of_client;
  std::map<std::uint32_t, std::set<std::size_t>> workers_of_speaker;
  for (std::size_t worker = 0; worker < 4; ++worker) {
    for (const std::uint32_t row : rows_of(by_client, worker))
      workers_of_client[dataset->columns(Subset::train).clients[row]].insert(worker);
    for (const std::uint32_t row : rows_of(by_speaker, worker)) workers_of_speaker[row / 50].insert(worker);
  }
  CHECK(workers_of_client.size() == 60);
  CHECK(workers_of_speaker.size() == 24);
  for (const auto& [_, workers] : workers_of_client) CHECK(workers.size() == 1);
  for (const auto& [_, workers] : workers_of_speaker) CHECK(workers.size() == 1);

  const Partition contiguous = divide(units, "contiguous", 4, 2, 1);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    const auto rows = rows_of(contiguous, worker);
    CHECK(std::ranges::min(rows) == 300 * worker);
    CHECK(std::ranges::max(rows) == 300 * worker + 299);
    CHECK_FALSE(std::ranges::is_sorted(rows));
  }
}

TEST_CASE("shares are Dirichlet-distributed, also of concentrations whose gamma variates underflow", "[data]") {
  const double alpha = GENERATE(0.001, 0.3, 1., 20.);
  partitioners::Draws draws(3, partitioners::Draws::Use::shares);
  const std::vector<double> concentrations{alpha, 2 * alpha, alpha};
  const int count = 20000;
  std::vector<double> sums(3, 0), squares(3, 0);
  for (int i = 0; i < count; ++i) {
    const std::vector<double> shares = draws.dirichlet(concentrations);
    REQUIRE(std::abs(std::accumulate(shares.begin(), shares.end(), 0.) - 1) < 1e-12);
    for (std::size_t k = 0; k < 3; ++k) {
      sums[k] += shares[k];
      squares[k] += shares[k] * shares[k];
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const double mean = concentrations[k] / (4 * alpha), variance = mean * (1 - mean) / (4 * alpha + 1);
    CHECK(std::abs(sums[k] / count - mean) < 5 * std::sqrt(variance / count));
    CHECK(std::abs(squares[k] / count - sums[k] * sums[k] / count / count - variance) < 0.03 * variance + 1e-4);
  }
}

TEST_CASE("kinds are checked, and named in one way", "[data]") {
  CHECK(settled_kind("dirichlet:0.10") == "dirichlet:0.1");
  CHECK(settled_kind("random") == "random");
  CHECK(settled_kind("shards:02") == "shards:2");
  for (const char* kind :
       {"dirichlet", "dirichlet:", "dirichlet:0", "dirichlet:x", "dirichlet:nan", "dirichlet:-1", "shards:0", "shards:1.5",
        "grouped:day", "grouped:", "random:1", "stored:", "stored:a/b", "dirichle:1", ""})
    CHECK_THROWS_AS(settled_kind(kind), core::ConfigError);
}

TEST_CASE("a partition is refused where the data do not have what its kind goes by", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);  // without clients and speakers; labels differ within utterances
  const auto dataset = Dataset::open(path);
  const auto refused = [&](const PartitionUnits& units, const char* kind, std::size_t workers, std::size_t blocks,
                           const char* why) {
    INFO(kind);
    CHECK_THROWS_WITH(divide(units, kind, workers, blocks, 1), contains_text(why));
  };
  const auto samples = PartitionUnits::of_samples(*dataset), utterances = PartitionUnits::of_utterances(*dataset),
             imaginary = PartitionUnits::imaginary(20);
  refused(samples, "grouped:client", 2, 1, "have no clients");
  refused(samples, "grouped:speaker", 2, 1, "does not name the speakers");
  refused(samples, "grouped:document", 2, 1, "does not consist of documents");
  refused(samples, "grouped:label", 5, 1, "4 labels cannot be divided among 5 workers");
  refused(samples, "grouped:label", 3, 6, "too few for 6 blocks");
  refused(samples, "shards:6", 4, 1, "more than the 20 samples");
  refused(samples, "sizes:0.001", 10, 1,
          "in none of 1000 draws did each of the 10 workers get one of the 20 samples for each block");
  refused(samples, "sizes:1", 1, 21, "1x21 needs at least one split, and one of 20 samples for each");
  refused(samples, "dirichlet:1", 100000, 1, "needs at least one split");
  refused(samples, "contiguous", 0, 1, "needs at least one split");
  refused(samples, "stored:mine", 2, 1, "no partition 2x1-s1-stored:mine");
  refused(utterances, "dirichlet:1", 2, 1, "labels differ within the utterances");
  refused(PartitionUnits::imaginary(5'000'000'000), "sizes:1", 2, 1, "too large for a partition other than random");
  refused(imaginary, "dirichlet:1", 2, 1, "have no labels");
  refused(imaginary, "grouped:label", 2, 1, "imaginary");
  CHECK(divide(imaginary, "sizes:1", 2, 2, 1).samples() == 20);
  CHECK_FALSE(divide(imaginary, "random", 2, 2, 1).has_rows());
  patch(path, "/train/labels", 3, std::int32_t{4});
  refused(PartitionUnits::of_samples(*Dataset::open(path)), "dirichlet:1", 2, 1,
          "label 4 in row 3 of train is outside the 4 classes");
}

TEST_CASE("clients are for partitions, and no batch has them", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  clients_file(path);
  const auto dataset = Dataset::open(path);
  CHECK(describe(*dataset)["train"]["clients"] == 60);
  CHECK_FALSE(describe(*dataset).contains("clients"));
  Prefetcher prefetcher;
  RowStream stream(dataset, Subset::train, prefetcher);
  std::vector<std::uint32_t> rows(300);
  std::iota(rows.begin(), rows.end(), 0u);
  stream.prefetch({rows.size(), rows, 1});
  stream.advance();
  for (std::size_t seen = 0; seen < 300;) {
    const Batch batch = stream.next(100);
    CHECK(batch.columns.clients.empty());
    REQUIRE(batch.size() == 100);
    seen += batch.size();
  }
}

TEST_CASE("a text is divided by passages and documents", "[data]") {
  const auto windows = Windows::training(1001, 10, Windows::Order::disjoint, 1, "x");
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  float_file(path, 1001, 1);
  const auto dataset = Dataset::open(path);
  const auto units = PartitionUnits::of_windows(*dataset, windows);
  const Partition passages = divide(units, "contiguous", 3, 2, 1);
  CHECK(passages.samples() == windows.count());
  CHECK(std::ranges::max(rows_of(passages, 0)) < std::ranges::min(rows_of(passages, 1)));
  CHECK_THROWS_WITH(divide(PartitionUnits::of_windows(*dataset, Windows::training(1001, 10, Windows::Order::random, 1, "x")),
                           "contiguous", 3, 2, 1),
                    contains_text("windows at random places"));
}

TEST_CASE("a partition that another program has stored is used under its name, and checked", "[data]") {
  const TemporaryFolder folder;
  const auto path = folder.file("x.h5");
  samples_file(path);
  std::vector<std::uint32_t> order(20);
  std::iota(order.begin(), order.end(), 0u);
  Partition::of_splits(order, {0, 15, 20}, 2, 1, 1, false).of_kind("stored:mine").store(path);
  const auto found = Partition::find(*Dataset::open(path), 2, 1, 1, settled_kind("stored:mine"));
  REQUIRE(found.has_value());
  CHECK(found->split(0, 0).size() == 15);
  CHECK(verify(path).empty());
  patch(path, "/partitions/2x1-s1-stored:mine/starts", 1, std::uint64_t{0});
  CHECK_THROWS_WITH(Partition::find(*Dataset::open(path), 2, 1, 1, "stored:mine"), contains_text("a split without samples"));
  CHECK(describe(*Dataset::open(path))["partitions"][0]["error"].get<std::string>().find("a split without samples") !=
        std::string::npos);
  CHECK_THROWS_AS(Partition::of_splits(order, {0, 0, 20}, 2, 1, 1, false), std::logic_error);
  order[1] = 0;
  CHECK_THROWS_AS(Partition::of_splits(order, {0, 15, 20}, 2, 1, 1, false), std::logic_error);
}
