// Damaged data files in intact HDF5 (tests/fuzz.hpp).
#include "catch.hpp"
#include "core/json.hpp"
#include "data/describe.hpp"
#include "data/partition.hpp"
#include "data/sequences.hpp"
#include "data/verify.hpp"
#include "fuzz.hpp"
#include "hdf5_content.hpp"
#include "support.hpp"

using namespace paragrad;
using namespace paragrad::data;
using test::Hdf5Content;

namespace {

constexpr std::uint64_t rows_of_subset = 6;

enum Kind { utterances, images, images_with_targets, images_with_weights, text, kinds };

/// Tokens of a few characters, in two documents.
Hdf5Content text_file() {
  Hdf5Content content;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, Hdf5Content::Value>>{{"format", "paragrad-data"},
                                                               {"version", std::uint64_t{4}},
                                                               {"name", "fuzz"},
                                                               {"source", "made up"},
                                                               {"licence", "none"},
                                                               {"source_sha256", std::vector<std::string>{"a: 1"}},
                                                               {"content_sha256", "0123456789abcdef"}})
    content.attributes.push_back({"/", name, value});
  const std::string vocabulary = "characters\nabcd\xC3\xA9";
  content.add<std::uint8_t>("/vocabulary", {vocabulary.begin(), vocabulary.end()});
  for (const std::string group : {"/train", "/valid", "/test"}) {
    content.add<std::uint8_t>(group + "/tokens", {0, 4, 2, 1, 3, 0});
    content.add<std::int64_t>(group + "/offsets", {0, 2, 6});
    content.attributes.push_back({group, "bytes", std::uint64_t{7}});
  }
  return content;
}

/// Utterances with names and a context, or images; and a partition.
Hdf5Content data_file(std::size_t kind) {
  if (kind == text) return text_file();
  const bool speech = kind == utterances, targets = kind == images_with_targets, weights = kind == images_with_weights;
  Hdf5Content content;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, Hdf5Content::Value>>{{"format", "paragrad-data"},
                                                               {"version", std::uint64_t{weights   ? 3u
                                                                                         : targets ? 2u
                                                                                                   : 1u}},
                                                               {"name", "fuzz"},
                                                               {"source", "made up"},
                                                               {"licence", "none"},
                                                               {"source_sha256", std::vector<std::string>{"a: 1", "b: 2"}},
                                                               {"content_sha256", "0123456789abcdef"},
                                                               {targets ? "targets" : "classes", std::uint64_t{3}},
                                                               {"feature_scale", 0.5},
                                                               {"feature_offset", -1.0}})
    content.attributes.push_back({"/", name, value});
  if (weights) content.attributes.push_back({"/", "columns", std::vector<std::string>{"weights"}});
  if (speech) {
    content.attributes.push_back({"/", "context_left", std::uint64_t{1}});
    content.attributes.push_back({"/", "context_right", std::uint64_t{2}});
    content.attributes.push_back({"/", "frame_shift_s", 0.01});
    content.attributes.push_back({"/", "class_names", std::vector<std::string>{"a", "b", "c"}});
  } else {
    for (const char* name : {"image_height", "image_width"}) content.attributes.push_back({"/", name, std::uint64_t{2}});
    content.attributes.push_back({"/", "image_channels", std::uint64_t{1}});
  }
  for (const std::string group : {"/train", "/valid", "/test"}) {
    if (speech)
      content.add<float>(group + "/features", std::vector<float>(rows_of_subset * 4, 0.5f), {rows_of_subset, 4});
    else
      content.add<std::uint8_t>(group + "/features", std::vector<std::uint8_t>(rows_of_subset * 4, 7), {rows_of_subset, 4});
    if (targets)
      content.add<float>(group + "/targets", std::vector<float>(rows_of_subset * 3, 0.25f), {rows_of_subset, 3});
    else
      content.add<std::int32_t>(group + "/labels", {0, 1, 2, 0, 1, 2});
    if (weights) content.add<float>(group + "/weights", std::vector<float>(rows_of_subset, 0.75f));
    if (!speech) continue;
    content.add<std::int64_t>(group + "/offsets", {0, 2, 5, 6});
    content.add<std::uint8_t>(group + "/utterances", {'u', '\n', 'v', '\n', 'w', '\n'});
    content.add<std::uint8_t>(group + "/speakers", {'s', '\n', 's', '\n', 't', '\n'});
  }
  const std::string partition = "/partitions/2x1-s7";
  content.add<std::uint32_t>(partition + "/index", {5, 0, 1, 2, 3, 4});
  content.add<std::uint64_t>(partition + "/starts", {0, 3, 6});
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"workers", 2}, {"blocks", 1}, {"seed", 7}, {"samples", rows_of_subset}})
    content.attributes.push_back({partition, name, value});
  content.attributes.push_back({partition, "dataset_sha256", "0123456789abcdef"});
  if (speech) content.attributes.push_back({partition, "unit", "utterances"});
  return content;
}

}  // namespace

TEST_CASE("damaged data files", "[data][fuzz]") {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("data.h5");
  const test::ForbiddenFile other(data_file(utterances).write(folder.file("other.h5")));
  const auto read = [&](const Hdf5Content& content) {
    content.write(path, other.path());
    const test::ForbiddenFile::Watch watch(other);
    const auto dataset = Dataset::open(path);
    const core::Json description = describe(*dataset);
    if (!dataset->info().vocabulary) CHECK(description.at("dim") == dataset->info().dim);
    for (const auto subset : {Subset::train, Subset::valid, Subset::test}) {
      if (dataset->offsets(subset).empty()) continue;
      const Sequences chunks(*dataset, subset, parse_chunking("1-2+1"));
      CHECK(chunks.count() > 0);
    }
    const auto findings = verify(path);
    CHECK(!findings.empty());  // the content does not have this hash
    if (const auto partition = Partition::find(*dataset, 2, 1, 7))
      CHECK(partition->split(0, 0).size() + partition->split(0, 1).size() == dataset->info().samples[0]);
  };
  test::survive(
      test::fuzz_inputs(20), [](std::size_t input) { return test::damaged(data_file(input % kinds), input); }, read);
  for (std::size_t kind = 0; kind < kinds; ++kind) CHECK_NOTHROW(read(data_file(kind)));
}
