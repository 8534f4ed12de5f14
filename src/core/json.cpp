#include "core/json.hpp"

namespace paragrad::core {

std::string text_of(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

Json parse_json(const std::string& text) { return Json::parse(text); }

Json parse_json_or_discard(const std::string& text) { return Json::parse(text, nullptr, false); }

}  // namespace paragrad::core
