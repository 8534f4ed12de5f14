#include "speech/normaliser.hpp"

#include <utility>

#include "core/errors.hpp"
#include "core/format.hpp"

namespace paragrad::speech {
namespace {

/// frame -> matrix [dim][dim + 1] times (frame, 1).
void transform(const Matrix<double>& matrix, Matrix<double>& features) {
  std::vector<double> frame(features.columns);
  for (std::size_t t = 0; t < features.rows; ++t) {
    const auto out = features.row(t);
    frame.assign(out.begin(), out.end());
    for (std::size_t d = 0; d < out.size(); ++d) {
      const auto row = matrix.row(d);
      double sum = row[frame.size()];
      for (std::size_t i = 0; i < frame.size(); ++i) sum += row[i] * frame[i];
      out[d] = sum;
    }
  }
}

std::string key_of(const std::string& how, const SpokenBy& who) {
  return how == "speaker" ? core::format("{} {}", who.set, who.speaker) : "";
}

}  // namespace

Normaliser::Normaliser(std::string how) : how_(std::move(how)) {
  if (how_ == "none" || how_ == "utterance" || learns()) return;
  if (how_.find(':') == std::string::npos) lone_ = read_lone_matrix(how_);
  if (!lone_) table_ = std::make_unique<KaldiTable>(how_);
}

FeatureStatistics& Normaliser::statistics_of(const SpokenBy& who, std::size_t dim) {
  return learnt_.try_emplace(key_of(how_, who), dim).first->second;
}

void Normaliser::learn(const SpokenBy& who, const Matrix<double>& features) {
  if (how_ == "speaker" || (how_ == "global" && who.set == 0)) statistics_of(who, features.columns).add(features);
}

void Normaliser::apply_matrix(const Matrix<double>& matrix, Matrix<double>& features) const {
  const std::size_t dim = features.columns;
  if (matrix.rows == dim && matrix.columns == dim + 1 && dim != 2) return transform(matrix, features);
  FeatureStatistics statistics(dim);
  statistics.load(matrix);
  statistics.normalise(features);
}

void Normaliser::apply(const SpokenBy& who, Matrix<double>& features) const {
  if (how_ == "none") return;
  if (learns()) return learnt_.at(key_of(how_, who)).normalise(features);
  if (how_ == "utterance") {
    FeatureStatistics own(features.columns);
    own.add(features);
    return own.normalise(features);
  }
  try {
    if (lone_) return apply_matrix(*lone_, features);
    auto entry = table_->find(who.speaker);
    if (!entry) entry = table_->find(who.utterance);
    if (!entry) throw core::ConfigError("no statistics for this utterance or its speaker");
    apply_matrix(table_->object(*entry).matrix<double>(), features);
  } catch (const core::ConfigError& error) {
    throw core::ConfigError(
        core::format("`cmvn` '{}' cannot normalise utterance '{}': {}", how_, who.utterance, error.what()));
  }
}

}  // namespace paragrad::speech
