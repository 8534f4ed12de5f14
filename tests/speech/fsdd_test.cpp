#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "catch.hpp"
#include "core/errors.hpp"
#include "data/verify.hpp"
#include "signals.hpp"
#include "speech/fsdd_import.hpp"
#include "speech/viterbi.hpp"
#include "speech/wav.hpp"

using namespace paragrad;
using namespace paragrad::speech;

namespace {

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void write_wav(const std::string& path, std::int64_t begin, std::size_t samples) {
  const auto sound = chirp(begin + static_cast<std::int64_t>(samples));
  std::string bytes = "RIFF....WAVEfmt ";
  put<std::uint32_t>(bytes, 16);
  put<std::uint16_t>(bytes, 1);
  put<std::uint16_t>(bytes, 1);
  put<std::uint32_t>(bytes, 8000);
  put<std::uint32_t>(bytes, 16000);
  put<std::uint16_t>(bytes, 2);
  put<std::uint16_t>(bytes, 16);
  bytes += "data";
  put<std::uint32_t>(bytes, static_cast<std::uint32_t>(2 * samples));
  for (std::size_t t = 0; t < samples; ++t)
    put<std::int16_t>(bytes, static_cast<std::int16_t>(sound[static_cast<std::size_t>(begin) + t] / 2));
  test::write_text(path, bytes);
}

}  // namespace

TEST_CASE("recordings of digits go to the official sets in a fixed order, and start with even alignments", "[speech]") {
  const test::TemporaryFolder folder;
  for (const std::string name : {"3_bert_0", "0_anna_7", "9_anna_11", "9_anna_10", "3_a_b_12", "3_anna_12"})
    write_wav(folder.file(name + ".wav"), name[0], 1600);
  for (const std::string name : {"10_anna_1.wav", "x_anna_1.wav", "3_anna.wav", "3__1.wav", "3_anna_1x.wav", "3_anna_1.txt"})
    test::write_text(folder.file(name), "not a recording");
  ImportFsddOptions options;
  options.recordings = folder.path();
  options.out = folder.file("out.h5");
  options.context = {5, 5};
  const auto info = import_fsdd(options);
  CHECK(data::verify(options.out).empty());
  CHECK(info.classes == 60);
  CHECK(info.dim == 11 * 3 * 40);
  CHECK(info.sequences == std::array<std::size_t, 3>{4, 1, 1});
  const auto dataset = data::Dataset::open(options.out);
  CHECK(dataset->utterances(data::Subset::train) ==
        std::vector<std::string_view>{"3_a_b_12", "3_anna_12", "9_anna_10", "9_anna_11"});
  CHECK(dataset->speakers(data::Subset::train).front() == "a_b");
  CHECK(dataset->utterances(data::Subset::valid).front() == "0_anna_7");
  CHECK(dataset->utterances(data::Subset::test).front() == "3_bert_0");
  const WordModels models(info.class_names);
  std::vector<std::int32_t> labels;
  for (std::size_t t = 0; t < info.samples[2]; ++t) labels.push_back(dataset->label(data::Subset::test, t));
  const std::vector<std::size_t> three{3};
  CHECK(models.word(3).name == "three");
  CHECK(labels == align_uniformly(models.states_of(three), 18));
  std::vector<float> features(18 * 120);
  dataset->decode(dataset->rows(data::Subset::test, 0, 18), features);
  double sum = 0, squares = 0;
  for (const float x : features) sum += x, squares += static_cast<double>(x) * x;
  CHECK(sum / 2160 == Approx(0).margin(1e-4));
  CHECK(squares / 2160 == Approx(1).epsilon(1e-3));
  options.out = folder.file("again.h5");
  CHECK(import_fsdd(options).content_sha256 == info.content_sha256);
}

TEST_CASE("the Free Spoken Digit Dataset gives 2,400, 300 and 300 utterances of six speakers", "[speech]") {
  const char* shared = std::getenv("PARAGRAD_SHARED_DATA");
  const std::string recordings = std::string(shared != nullptr ? shared : "") + "/fsdd/recordings";
  if (shared == nullptr || !std::filesystem::is_directory(recordings)) {
    WARN("skipped: no recordings in $PARAGRAD_SHARED_DATA/fsdd");
    return;
  }
  const test::TemporaryFolder folder;
  ImportFsddOptions options;
  options.recordings = recordings;
  options.out = folder.file("out.h5");
  options.deltas = 0;
  const auto info = import_fsdd(options);
  CHECK(info.sequences == std::array<std::size_t, 3>{2400, 300, 300});
  CHECK(info.samples == std::array<std::size_t, 3>{100305, 12606, 12326});
  const auto dataset = data::Dataset::open(info.path);
  const auto speakers = dataset->speakers(data::Subset::test);
  CHECK(std::set<std::string_view>(speakers.begin(), speakers.end()).size() == 6);
}
