#include "train/state/trained_on.hpp"

#include <utility>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "data/hdf5_file.hpp"
#include "data/partition.hpp"
#include "support.hpp"
#include "temporary_folder.hpp"
#include "train/state/checkpoint.hpp"
#include "train/state/run_identity.hpp"

using namespace paragrad;
using namespace paragrad::train;

namespace {

TrainedOn three_words() { return {12, 3, 0, {"cat", "dog", "eel"}, {"x", "y", "z"}, {1, 2}, data::ImageShape{3, 1, 1}}; }

data::DatasetInfo same_as(const TrainedOn& data) {
  data::DatasetInfo info;
  info.path = "other.h5";
  info.dim = data.features;
  info.classes = data.classes;
  info.widths.targets = data.targets;
  info.class_names = data.class_names;
  info.names_of_features = data.names_of_features;
  info.context = data.context;
  info.image = data.image;
  return info;
}

}  // namespace

TEST_CASE("a checkpoint keeps what its data were, or nothing if that is unknown", "[train]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("checkpoint.h5");
  for (const TrainedOn& data : {three_words(), TrainedOn{5, 0, 2}, TrainedOn{}}) {
    write_checkpoint(path, {"8-12-6", "abc", 3, std::vector<float>(10, 1.f), "cross_entropy", data});
    const TrainedOn read = read_checkpoint(path).data;
    CHECK(read.features == data.features);
    CHECK(read.classes == data.classes);
    CHECK(read.targets == data.targets);
    CHECK(read.class_names == data.class_names);
    CHECK(read.names_of_features == data.names_of_features);
    CHECK(read.context == data.context);
    CHECK(read.image == data.image);
  }
}

TEST_CASE("data that differ in anything that a checkpoint keeps are refused by its name", "[train]") {
  const TrainedOn data = three_words();
  CHECK_NOTHROW(require_same_kind(data, "checkpoint 'c.h5'", same_as(data)));
  const auto refused = [&](const auto& change, const std::string& word) {
    data::DatasetInfo info = same_as(data);
    change(info);
    CHECK_THROWS_WITH(require_same_kind(data, "checkpoint 'c.h5'", info),
                      contains_text("checkpoint 'c.h5'") && contains_text("'other.h5'") && contains_text(word));
    CHECK_NOTHROW(require_same_kind({}, "an old checkpoint", info));
  };
  refused([](auto& info) { info.dim = 16; }, "12 features");
  refused([](auto& info) { info.widths.targets = 2; }, "0 targets");
  refused([](auto& info) { info.classes = 4, info.class_names = {}; }, "3 classes");
  refused([](auto& info) { info.class_names = {"cat", "eel", "dog"}; }, "number 1 has the name 'dog'");
  refused([](auto& info) { info.class_names = {"cat", "dog", "Eel"}; }, "'eel'");
  refused([](auto& info) { info.class_names = {"cat", "dog"}; }, "no name");
  refused([](auto& info) { info.names_of_features = {"y", "x", "z"}; }, "has y, x, z");
  refused([](auto& info) { info.context = {2, 1}; }, "give `context` 1+2");
  refused([](auto& info) { info.image = data::ImageShape{1, 3, 1}; }, "images of 3x1x1");
}

TEST_CASE("what one side does not know is not compared", "[train]") {
  data::DatasetInfo info = same_as(three_words());
  info.class_names = {};
  info.names_of_features = {};
  info.context = {};
  info.image = std::nullopt;
  CHECK_NOTHROW(require_same_kind(three_words(), "checkpoint 'c.h5'", info));
}

TEST_CASE("a run is not resumed with classes of other names", "[train]") {
  const RunIdentity saved{"options", "data", "partition", "names", 1, 2}, older{"options", "data", "partition", "", 1, 2};
  RunIdentity now = saved;
  CHECK_NOTHROW(check_same_run(saved, now, "x.h5"));
  now.classes_sha256 = "other";
  CHECK_THROWS_WITH(check_same_run(saved, now, "x.h5"), contains_text("classes of 'x.h5' have other names"));
  CHECK_NOTHROW(check_same_run(older, now, "x.h5"));
}

TEST_CASE("a stored partition is another one if two of its rows are exchanged", "[train]") {
  test::SmallTask task;
  task.options.strategy = "bmuf";
  data::Partition::random(613, 2, task.options.blocks, task.options.seed).store(task.options.data);
  const auto identity = [&] { return identify_run("", open_training_data(task.options, 2)).partition_sha256; };
  const std::string before = identity();
  data::Hdf5File file = data::Hdf5File::revise(task.options.data);
  const std::string index = core::format("/partitions/2x{}-s{}/index", task.options.blocks, task.options.seed);
  std::vector<std::uint32_t> rows = file.read<std::uint32_t>(index);
  std::swap(rows[0], rows[1]);
  file.write_rows(index, 0, std::span<const std::uint32_t>(rows));
  file.finish();
  CHECK(identity() != before);
}
