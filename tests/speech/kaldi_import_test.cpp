#include "speech/kaldi_import.hpp"

#include <cmath>
#include <cstring>
#include <functional>

#include "catch.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "data/verify.hpp"
#include "signals.hpp"
#include "speech/kaldi_table.hpp"

using namespace paragrad;
using namespace paragrad::speech;
using data::Dataset;
using data::Subset;

namespace {

float value(std::size_t u, std::size_t t, std::size_t d) { return static_cast<float>((7 * u + 3 * t + 5 * d * d) % 23); }

/// A folder with features (text archive) of utterances of 3 features and 4 + u frames, and alignments of 5 classes.
struct Task {
  explicit Task(std::size_t utterances = 6) {
    std::string features, alignments, speakers;
    for (std::size_t u = 0; u < utterances; ++u) {
      features += core::format("u{}  [", u);
      alignments += core::format("u{}", utterances - 1 - u);  // in another order
      for (std::size_t t = 0; t < 4 + u; ++t)
        features += core::format("\n  {} {} {}", value(u, t, 0), value(u, t, 1), value(u, t, 2));
      for (std::size_t t = 0; t < 4 + utterances - 1 - u; ++t) alignments += core::format(" {}", t % 5);
      features += " ]\n";
      alignments += "\n";
      speakers += core::format("u{} {}\n", u, u % 2 == 0 ? "alice" : "bob");
    }
    test::write_text(folder.file("feats.ark"), features);
    test::write_text(folder.file("ali.ark"), alignments);
    test::write_text(folder.file("utt2spk"), speakers);
    options.features[0] = folder.file("feats.ark");
    options.alignments[0] = "ark,t:" + folder.file("ali.ark");
    options.out = folder.file("x.h5");
    options.name = "kaldi";
  }

  std::vector<float> frame(const Dataset& dataset, Subset subset, std::size_t row) const {
    std::vector<float> frame(dataset.info().frame_dim());
    dataset.decode(dataset.row(subset, row), frame);
    return frame;
  }

  test::TemporaryFolder folder;
  ImportKaldiOptions options;
};

/// A binary matrix of doubles as Kaldi writes it.
std::string binary(const Matrix<double>& matrix) {
  std::string text("\0BDM ", 5);
  for (const std::size_t size : {matrix.rows, matrix.columns}) {
    const auto number = static_cast<std::int32_t>(size);
    text += '\4';
    text.append(reinterpret_cast<const char*>(&number), 4);
  }
  return text.append(reinterpret_cast<const char*>(matrix.values.data()), matrix.values.size() * sizeof(double));
}

void check_normal(const Task& task, const Dataset& dataset, Subset subset,
                  const std::function<bool(std::size_t)>& of_group) {
  const auto offsets = dataset.offsets(subset);
  for (std::size_t d = 0; d < 3; ++d) {
    double count = 0, sum = 0, squares = 0;
    for (std::size_t u = 0; u + 1 < offsets.size(); ++u) {
      if (!of_group(u)) continue;
      for (std::int64_t row = offsets[u]; row < offsets[u + 1]; ++row) {
        const double x = task.frame(dataset, subset, static_cast<std::size_t>(row))[d];
        count += 1, sum += x, squares += x * x;
      }
    }
    CHECK(sum == Approx(0).margin(1e-4));
    CHECK(squares / count == Approx(1).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("an import keeps features, classes, order, names, speakers and lengths of the utterances", "[speech]") {
  Task task;
  task.options.utt2spk = task.folder.file("utt2spk");
  task.options.context = {5, 5};
  task.options.frame_shift_s = 0.005;
  const std::string line_end = GENERATE("\n", "\r\n");
  test::write_text(task.folder.file("names"),
                   core::format("{}", core::join(std::vector{"a", "b", "c", "d", "e"}, line_end)));
  task.options.class_names = task.folder.file("names");
  const auto imported = import_kaldi(task.options);
  CHECK(imported.info.dim == 33);
  CHECK(imported.info.classes == 5);
  CHECK(data::verify(task.options.out).empty());
  const auto dataset = Dataset::open(task.options.out);
  CHECK(dataset->info().context == data::Context{5, 5});
  CHECK(dataset->info().frame_shift_s == 0.005);
  CHECK(dataset->info().class_names.at(4) == "e");
  CHECK(dataset->info().source_sha256.size() == 3);
  CHECK(dataset->utterances(Subset::train).at(3) == "u3");
  CHECK(dataset->speakers(Subset::train).at(3) == "bob");
  const auto offsets = dataset->offsets(Subset::train);
  REQUIRE(offsets.size() == 7);
  for (std::size_t u = 0; u < 6; ++u) {
    CHECK(offsets[u + 1] - offsets[u] == static_cast<std::int64_t>(4 + u));
    for (std::size_t t = 0; t < 4 + u; ++t) {
      const auto row = static_cast<std::size_t>(offsets[u]) + t;
      CHECK(task.frame(*dataset, Subset::train, row) == std::vector<float>{value(u, t, 0), value(u, t, 1), value(u, t, 2)});
      CHECK(dataset->label(Subset::train, row) == static_cast<std::int32_t>(t % 5));
    }
  }
}

TEST_CASE("archives that kaldiio wrote import, compressed ones and scripts too", "[speech]") {
  const test::TemporaryFolder folder;
  std::string alignments;
  for (std::size_t u = 0; u < 3; ++u) {
    alignments += core::format("speaker{}-utt{}", u, u);
    for (std::size_t t = 0; t < 5 + 2 * u; ++t) alignments += " 1";
    alignments += "\n";
  }
  test::write_text(folder.file("ali"), alignments);
  ImportKaldiOptions options;
  options.alignments[0] = folder.file("ali");
  options.out = folder.file("x.h5");
  // Matrices of these archives have 3, 4 and 5 columns, so that only one utterance at a time can be imported.
  const std::string name = GENERATE("float", "cm", "cm2", "cm3");
  test::write_text(folder.file("feats.scp"), "speaker0-utt0 " + golden_path("kaldi_" + name + ".ark") + ":14\n");
  options.features[0] = folder.file("feats.scp");
  const auto imported = import_kaldi(options);
  CHECK(imported.info.samples[0] == 5);
  CHECK(imported.info.dim == 3);
  options.features[0] = golden_path("kaldi_" + name + ".ark");
  CHECK_THROWS_WITH(import_kaldi(options),
                    contains_text("'speaker1-utt1' has 4 features per frame, but the utterances before it have 3"));
}

TEST_CASE("validation and test sets come from tables of their own, or out of the training set", "[speech]") {
  Task task(10);
  SECTION("tables") {
    test::write_text(task.folder.file("valid.ark"), "u1 [ 1 2 3\n 1 2 3\n 1 2 3\n 1 2 3\n 4 5 6 ]\n");
    test::write_text(task.folder.file("test.ark"), "new [ 1 2 3\n 4 5 6 ]\n");
    test::write_text(task.folder.file("test_ali"), "new 4 3\n");
    task.options.features[1] = task.folder.file("valid.ark");
    task.options.features[2] = task.folder.file("test.ark");
    task.options.alignments[2] = task.folder.file("test_ali");
    import_kaldi(task.options);
    const auto dataset = Dataset::open(task.options.out);
    CHECK(dataset->info().sequences == std::array<std::size_t, 3>{10, 1, 1});
    CHECK(dataset->utterances(Subset::valid).at(0) == "u1");
    CHECK(dataset->label(Subset::test, 0) == 4);
    task.options.valid = 2;
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("either from `valid-features` or from the training set"));
  }
  SECTION("drawn") {
    task.options.valid = 3;
    import_kaldi(task.options);
    const auto dataset = Dataset::open(task.options.out);
    CHECK(dataset->info().sequences == std::array<std::size_t, 3>{7, 3, 0});
    const auto names = dataset->utterances(Subset::train);
    CHECK(std::is_sorted(names.begin(), names.end()));
    task.options.valid = 10;
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("uses up all 10 training utterances"));
  }
}

TEST_CASE("an utterance without alignment, or of another length, ends the import or is skipped and counted", "[speech]") {
  Task task;
  const auto path = task.folder.file("ali.ark");
  auto alignments = test::read_text(path);
  std::string why;
  std::size_t missing = 0;
  SECTION("no alignment") {
    alignments.replace(alignments.find("u2"), 2, "v2");
    why = "utterance 'u2' has no alignment; use `skip-missing`";
    missing = 1;
  }
  SECTION("another length") {
    alignments.replace(alignments.find("u2"), 2, "u2 0");
    why = "utterance 'u2' has 6 frames, but its alignment has 7; use `skip-missing`";
  }
  SECTION("nothing") {
    alignments.replace(alignments.find("u2"), 2, "u2\nv2");
    why = "utterance 'u2' has 6 frames, but its alignment has 0";
  }
  test::write_text(path, alignments);
  CHECK_THROWS_WITH(import_kaldi(task.options), contains_text(why));
  CHECK_FALSE(std::filesystem::exists(task.options.out));
  task.options.skip_missing = true;
  const auto imported = import_kaldi(task.options);
  CHECK(imported.without_alignment == missing);
  CHECK(imported.other_length == 1 - missing);
  CHECK(Dataset::open(task.options.out)->utterances(Subset::train) ==
        std::vector<std::string_view>{"u0", "u1", "u3", "u4", "u5"});
}

TEST_CASE("features are normalised by utterance, by speaker, or by the training set", "[speech]") {
  Task task(8);
  task.options.utt2spk = task.folder.file("utt2spk");
  task.options.valid = 3;
  task.options.cmvn = GENERATE("utterance", "speaker", "global");
  import_kaldi(task.options);
  const auto dataset = Dataset::open(task.options.out);
  const auto speakers = dataset->speakers(Subset::train);
  if (task.options.cmvn == "utterance")
    for (std::size_t u = 0; u < 5; ++u) check_normal(task, *dataset, Subset::train, [&](std::size_t i) { return i == u; });
  if (task.options.cmvn == "global") check_normal(task, *dataset, Subset::train, [](std::size_t) { return true; });
  if (task.options.cmvn == "utterance") check_normal(task, *dataset, Subset::valid, [](std::size_t i) { return i == 1; });
  task.options.valid = 0;
  if (task.options.cmvn == "speaker") {
    import_kaldi(task.options);
    const auto all = Dataset::open(task.options.out);
    check_normal(task, *all, Subset::train, [](std::size_t i) { return i % 2 == 0; });
    check_normal(task, *all, Subset::train, [](std::size_t i) { return i % 2 == 1; });
  }
}

TEST_CASE("features are normalised by statistics or transforms of Kaldi's, for all or by speaker", "[speech]") {
  Task task(2);
  task.options.utt2spk = task.folder.file("utt2spk");
  const auto path = task.folder.file("cmvn.ark");
  task.options.cmvn = path;
  Matrix<double> statistics(2, 4), affine(3, 4);
  for (std::size_t d = 0; d < 3; ++d) {
    statistics.row(0)[d] = 10 * static_cast<double>(d);          // mean d
    statistics.row(1)[d] = 10 * static_cast<double>(d * d + 4);  // variance 4
    affine.row(d)[(d + 1) % 3] = 2;
    affine.row(d)[3] = 1;
  }
  statistics.row(0)[3] = 10;
  const auto first = [&](std::size_t row) {
    import_kaldi(task.options);
    return task.frame(*Dataset::open(task.options.out), Subset::train, row);
  };
  const std::vector<float> normal{value(1, 0, 0) / 2, (value(1, 0, 1) - 1) / 2, (value(1, 0, 2) - 2) / 2};
  const std::vector<float> moved{2 * value(0, 0, 1) + 1, 2 * value(0, 0, 2) + 1, 2 * value(0, 0, 0) + 1};
  test::write_text(path, binary(statistics));
  CHECK(first(4) == normal);
  test::write_text(path, "alice " + binary(affine) + "bob " + binary(statistics));
  CHECK(first(0) == moved);
  CHECK(first(4) == normal);
  test::write_text(path, "u0 " + binary(affine) + "u1 " + binary(statistics));
  CHECK(first(0) == moved);
  test::write_text(path, "u0 " + binary(affine));
  CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("'u1': no statistics for this utterance or its speaker"));
  test::write_text(path, binary(Matrix<double>(5, 4)));
  CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("statistics of 3 features must be a matrix 2x4, not 5x4"));
  task.options.cmvn = "speakers";
  CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("'speakers'"));
}

TEST_CASE("what does not fit is refused with the utterance it is in", "[speech]") {
  Task task;
  SECTION("a class") {
    task.options.classes = 4;
    CHECK_THROWS_WITH(import_kaldi(task.options),
                      contains_text("'u1' has class 4 in frame 4, but there are only 4 classes"));
  }
  SECTION("a number that is none") {
    auto text = test::read_text(task.options.features[0]);
    text = text.substr(0, text.find("u3")) + "u3 [ nan 1 2\n 1 2 3\n 1 2 3\n 1 2 3\n 1 2 3\n 1 2 3\n 1 2 3 ]\n";
    test::write_text(task.options.features[0], text);
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("'u3' has features that are not finite"));
  }
  SECTION("a speaker") {
    task.options.cmvn = "speaker";
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("give `utt2spk`"));
    test::write_text(task.folder.file("utt2spk"), "u0 alice\n");
    task.options.utt2spk = task.folder.file("utt2spk");
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("'u1' has no speaker in"));
  }
  SECTION("names of classes") {
    task.options.class_names = task.folder.file("utt2spk");
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("names 6 classes, but there are 5"));
  }
  SECTION("alignments of none") {
    auto text = test::read_text(task.folder.file("ali.ark"));
    std::replace(text.begin(), text.end(), 'u', 'w');
    test::write_text(task.folder.file("ali.ark"), text);
    task.options.skip_missing = true;
    CHECK_THROWS_WITH(import_kaldi(task.options), contains_text("no utterances are left"));
  }
}
