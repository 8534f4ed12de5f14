#include "data/relabel.hpp"

#include <algorithm>
#include <stdexcept>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/generate.hpp"
#include "data/verify.hpp"
#include "data/writer.hpp"
#include "temporary_folder.hpp"

using namespace paragrad;
using namespace paragrad::data;

namespace {

Labels labels_of(const Dataset& dataset) {
  Labels labels;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t row = 0; row < dataset.info().samples[i]; ++row)
      labels[i].push_back(dataset.label(static_cast<Subset>(i), row));
  return labels;
}

}  // namespace

TEST_CASE("a data set with its own labels again is the same, and others change nothing else", "[data]") {
  const test::TemporaryFolder folder;
  GenerateOptions generate;
  generate.out = folder.file("x.h5");
  generate.samples = 70000;
  generate.valid = 50;
  generate.test = 0;
  generate.dim = 3;
  generate.classes = 5;
  data::generate(generate);
  const auto dataset = Dataset::open(generate.out);
  auto labels = labels_of(*dataset);
  CHECK(relabel(*dataset, labels, folder.file("same.h5")).content_sha256 == dataset->info().content_sha256);

  for (auto& label : labels[0]) label = 4 - label;
  const auto info = relabel(*dataset, labels, folder.file("other.h5"), "turned");
  CHECK(verify(folder.file("other.h5")).empty());
  CHECK(info.dim == 3);
  CHECK(info.source.ends_with("turned"));
  const auto other = Dataset::open(folder.file("other.h5"));
  CHECK(labels_of(*other) == labels);
  CHECK(std::ranges::equal(other->rows(Subset::train, 0, 70000), dataset->rows(Subset::train, 0, 70000)));
  CHECK(std::ranges::equal(other->offsets(Subset::valid), dataset->offsets(Subset::valid)));

  labels[0][5] = 5;
  CHECK_THROWS_AS(relabel(*dataset, labels, folder.file("y.h5")), core::ConfigError);
  labels[0].pop_back();
  CHECK_THROWS_AS(relabel(*dataset, labels, folder.file("y.h5")), std::logic_error);
}

TEST_CASE("names of utterances and speakers, and samples without sequences, are kept by new labels", "[data]") {
  const test::TemporaryFolder folder;
  DatasetInfo info;
  info.name = "tiny";
  info.dim = 2;
  info.classes = 3;
  info.encoding.type = core::NumberType::uint8;
  info.class_names = {"a", "b", "c"};
  const bool spoken = GENERATE(false, true);
  {
    DatasetWriter writer(folder.file("x.h5"), info);
    writer.begin(Subset::train, 3);
    const std::vector<std::uint8_t> features{1, 2, 3, 4, 5, 6};
    writer.append(features, std::vector<std::int32_t>{0, 1, 2});
    if (spoken) writer.end_sequence("one", "anna");
    writer.finish();
  }
  const auto written = relabel(*Dataset::open(folder.file("x.h5")), {{{2, 2, 2}, {}, {}}}, folder.file("y.h5"));
  const auto dataset = Dataset::open(folder.file("y.h5"));
  CHECK(written.class_names == info.class_names);
  CHECK(dataset->label(Subset::train, 0) == 2);
  CHECK(dataset->row(Subset::train, 2)[1] == std::byte{6});
  CHECK(dataset->offsets(Subset::train).size() == (spoken ? 2 : 0));
  CHECK(dataset->utterances(Subset::train).size() == (spoken ? 1 : 0));
  if (spoken) CHECK(dataset->speakers(Subset::train).front() == "anna");
}
