#include "core/json.hpp"

#include <stdexcept>
#include <string_view>

namespace paragrad::core {
namespace {

bool nests_too_deeply(std::string_view text) {
  constexpr int deepest = 100;
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '\\') ++at;  // and what it escapes
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > deepest) return true;
  }
  return false;
}

}  // namespace

std::string text_of(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

Json parse_json(const std::string& text) {
  if (nests_too_deeply(text)) throw std::runtime_error("JSON that nests too deeply");
  return Json::parse(text);
}

Json parse_json_or_discard(const std::string& text) {
  return nests_too_deeply(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace paragrad::core
