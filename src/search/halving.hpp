#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace paragrad::search {

/// Successive halving (Karnin, Koren and Somekh, ICML 2013; Jamieson and Talwalkar, AISTATS 2016): which configurations go
/// on after a rung, best first. `keep` of them, rounded up; a smaller score is better, equal ones count in order. NaN, a run
/// that failed, never goes on.
std::vector<std::size_t> survivors(std::span<const double> scores, double keep);

}  // namespace paragrad::search
