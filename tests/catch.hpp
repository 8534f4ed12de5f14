#pragma once

// The one door to Catch2: its header moved and a matcher was renamed between versions 2 and 3.
#ifdef PARAGRAD_CATCH2_V3
#include <catch2/catch_all.hpp>
inline auto contains_text(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
using Catch::Approx;
#else
#include <catch2/catch.hpp>
inline auto contains_text(const std::string& part) { return Catch::Matchers::Contains(part); }
#endif
