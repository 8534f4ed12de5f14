#include "app/cntk/cntk_block.hpp"

#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "core/numbers.hpp"

namespace paragrad::app {
namespace {

using Rest = BrainScript::Rest;

constexpr CntkKey keys[] = {
#define KEY(section, name, treatment, argument, reason) \
  {CntkSection::section, #name, CntkTreatment::treatment, argument, reason},
#include "app/cntk/cntk_keys.def"
#undef KEY
};

const CntkKey* find_key(CntkSection section, std::string_view name) {
  for (const CntkKey& key : keys)
    if (key.section == section && same_key(key.name, name)) return &key;
  return nullptr;
}

}  // namespace

std::span<const CntkKey> cntk_keys() { return keys; }

std::optional<double> to_number(std::string_view text) {
  if (same_key(text, "infinity") || same_key(text, "inf") || same_key(text, "1#inf")) return INFINITY;
  const auto value = core::number_of<double>(text);
  return value && std::isnan(*value) ? std::nullopt : value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    while (part.starts_with(' ') || part.starts_with('\t')) part.remove_prefix(1);
    while (part.ends_with(' ') || part.ends_with('\t')) part.remove_suffix(1);
    parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

CntkBlock::CntkBlock(const BrainScript& script) : script_(script) {
  find_block();
  collect(CntkSection::sgd, path_.back());
  inherit();
}

void CntkBlock::read(CntkSection outer, const char* name, CntkSection inner) {
  const Entry* entry = find(outer, name);
  if (entry == nullptr) return;
  if (!entry->is_block) throw error(*entry, core::format("{} must be a block: {} = [ … ]", name, name));
  collect(inner, script_.entries(*entry, Rest::refused));
}

std::vector<CntkRemark> CntkBlock::remarks() const {
  std::vector<CntkRemark> sorted = remarks_;
  std::stable_sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.line < b.line; });
  return sorted;
}

void CntkBlock::find_block() {
  std::vector<Path> found;
  std::vector<int> lines;
  Path path{script_.entries(Rest::left_out)};
  look_for_sgd(path, found, lines);
  if (!found.empty()) {
    path_ = std::move(found.front());
    line_ = lines.front();
    for (std::size_t i = 1; i < found.size(); ++i)
      lose(lines[i], core::format("another SGD block, which is ignored: the one in line {} is used", line_));
    return;
  }
  path_ = {script_.entries(Rest::refused)};
  for (const Entry& entry : path_.back()) {
    const CntkKey* key = find_key(CntkSection::sgd, entry.key);
    if (key == nullptr || key->treatment == CntkTreatment::unneeded) continue;
    line_ = 1;
    return;
  }
  throw core::ConfigError(core::format(
      "'{}' has no SGD block: give a CNTK configuration file, or a file with the contents of such a block", script_.name()));
}

void CntkBlock::look_for_sgd(Path& path, std::vector<Path>& found, std::vector<int>& lines) const {
  constexpr std::size_t deepest = 8;
  const std::size_t level = path.size() - 1;
  for (std::size_t i = 0; i < path[level].size() && level < deepest; ++i) {
    const Entry entry = path[level][i];
    if (!entry.is_block) continue;
    const bool sgd = same_key(entry.key, "SGD");
    path.push_back(script_.entries(entry, sgd ? Rest::refused : Rest::left_out));
    if (sgd) {
      found.push_back(path);
      lines.push_back(entry.line);
    } else {
      look_for_sgd(path, found, lines);
    }
    path.pop_back();
  }
}

void CntkBlock::collect(CntkSection section, const Entries& entries) {
  for (const Entry& entry : entries) {
    const CntkKey* key = find_key(section, entry.key);
    if (key != nullptr && given(section, key->name))
      note(entry.line, core::format("{} is set here a second time: this value is used", entry.key));
    if (entry.key == "...")
      note(entry.line, "'...': something is omitted here");
    else if (key == nullptr)
      lose(entry.line, core::format("unknown key {}{}", shown(entry.key),
                                    entry.is_block ? ", a block" : core::format(" = {}", shown(entry.value))));
    else
      keep(*key, entry);
  }
}

void CntkBlock::keep(const CntkKey& key, const Entry& entry) {
  if (key.treatment == CntkTreatment::unneeded) return;
  const Name name{key.section, key.name};
  named_.insert(name);
  entries_.erase(name);
  if (const auto value = resolved(entry.value))
    (entries_[name] = entry).value = *value;
  else
    lose(entry.line, core::format("{} = {}: this variable is not defined in the file", key.name, shown(entry.value)));
}

/// Takes keys missing from the block from its enclosing blocks, as CNTK does.
void CntkBlock::inherit() {
  for (std::size_t level = path_.size() - 1; level-- > 0;)
    for (const Entry& entry : path_[level]) {
      const CntkKey* key = find_key(CntkSection::sgd, entry.key);
      if (key == nullptr || key->treatment == CntkTreatment::unneeded || entry.is_block ||
          given(CntkSection::sgd, key->name))
        continue;
      if (same_key(entry.key, "ParallelTrain")) continue;  // the switch of that name, see outside()
      note(entry.line,
           core::format("{} = {} is outside of the SGD block, and CNTK takes it from there", entry.key, shown(entry.value)));
      keep(*key, entry);
    }
}

/// Replaces $name$ by a value from this block or an enclosing one.
std::optional<std::string> CntkBlock::resolved(const std::string& text) const {
  std::string result = text;
  for (int replaced = 0; replaced < 100; ++replaced) {
    const std::size_t begin = result.find('$');
    const std::size_t end = begin == std::string::npos ? begin : result.find('$', begin + 1);
    if (end == std::string::npos) return result;
    const std::string name = result.substr(begin + 1, end - begin - 1);
    const Entry* variable = nullptr;
    for (std::size_t level = path_.size(); level-- > 0 && variable == nullptr;)
      for (const Entry& entry : path_[level])
        if (!entry.is_block && same_key(entry.key, name)) variable = &entry;
    if (variable == nullptr || result.size() > 10000) return std::nullopt;
    result.replace(begin, end - begin + 1, variable->value);
  }
  return std::nullopt;  // it refers to itself
}

std::optional<CntkBlock::Entry> CntkBlock::outside(const char* name) const {
  for (std::size_t level = path_.size() - 1; level-- > 0;)
    for (const Entry& entry : path_[level])
      if (!entry.is_block && same_key(entry.key, name)) {
        Entry found = entry;
        found.value = resolved(entry.value).value_or("");
        return found;
      }
  return std::nullopt;
}

std::optional<CntkBlock::Entry> CntkBlock::in_reader(const char* name) const {
  for (std::size_t level = path_.size(); level-- > 0;)
    for (const Entry& block : path_[level]) {
      if (!block.is_block || !same_key(block.key, "reader")) continue;
      for (Entry entry : script_.entries(block, Rest::left_out)) {
        if (entry.is_block || !same_key(entry.key, name)) continue;
        entry.value = resolved(entry.value).value_or("");
        return entry;
      }
    }
  return std::nullopt;
}

// ---- values ----

const CntkBlock::Entry* CntkBlock::find(CntkSection section, const char* name) const {
  const auto found = entries_.find({section, name});
  return found == entries_.end() ? nullptr : &found->second;
}

double CntkBlock::number(const Entry& entry) const {
  const auto value = to_number(entry.value);
  if (!value || entry.is_block) throw error(entry, core::format("{} = '{}' is not a number", entry.key, shown(entry.value)));
  return *value;
}

double CntkBlock::whole(const Entry& entry) const {
  const double value = number(entry);
  if (value < 0 || value > 1e15 || value != std::floor(value))
    throw error(entry, core::format("{} = {} is not a whole number", entry.key, shown(entry.value)));
  return value;
}

bool CntkBlock::yes_no(const Entry& entry) const {
  for (const char* yes : {"true", "t", "1"})
    if (same_key(entry.value, yes)) return true;
  for (const char* no : {"false", "f", "0"})
    if (same_key(entry.value, no)) return false;
  throw error(entry, core::format("{} = '{}' is neither true nor false", entry.key, shown(entry.value)));
}

std::vector<double> CntkBlock::list(const Entry& entry) const {
  constexpr double most = 10000;
  std::vector<double> values;
  for (const std::string_view part : split(entry.value, ':')) {
    const auto factors = split(part, '*');
    const auto value = to_number(factors[0]);
    const auto times = factors.size() == 2 ? to_number(factors[1]) : std::optional<double>(1);
    if (!value || !std::isfinite(*value) || !times || *times < 1 || *times != std::floor(*times) || factors.size() > 2 ||
        entry.is_block)
      throw script_.error(entry.line, core::format("{} = '{}' is neither a number nor a list such as 0.1*5:0.05", entry.key,
                                                   shown(entry.value)));
    if (*times + static_cast<double>(values.size()) > most)
      throw error(entry, core::format("{} lists more than {} epochs", entry.key, most));
    values.insert(values.end(), static_cast<std::size_t>(*times), *value);
  }
  while (values.size() > 1 && values[values.size() - 2] == values.back()) values.pop_back();
  return values;
}

bool CntkBlock::is_yes(CntkSection section, const char* name, bool by_default) const {
  const Entry* entry = find(section, name);
  return entry == nullptr ? by_default : yes_no(*entry);
}

const CntkBlock::Entry* CntkBlock::only_one_of(CntkSection section, std::initializer_list<const char*> names) const {
  const Entry* one = nullptr;
  for (const char* name : names) {
    const Entry* next = find(section, name);
    if (one != nullptr && next != nullptr)
      throw error(*next, core::format("{} cannot be combined with {} of line {}: keep one", next->key, one->key, one->line));
    if (next != nullptr) one = next;
  }
  return one;
}

}  // namespace paragrad::app
