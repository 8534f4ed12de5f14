#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/cntk/brainscript.hpp"

namespace paragrad::app {

/// CNTK's SGD block and the blocks inside it.
enum class CntkSection { sgd, auto_adjust, parallel, data_parallel, bmuf, model_averaging, asgd };
enum class CntkTreatment { whole, number, yes_no, joined, fixed, of_search, unneeded, remark };

/// A line of app/cntk/cntk_keys.def, which explains the treatments.
struct CntkKey {
  CntkSection section;
  const char* name;
  CntkTreatment treatment;
  const char* argument;
  const char* reason;
};

std::span<const CntkKey> cntk_keys();

struct CntkRemark {
  int line = 0;
  std::string text;
  bool lost = false;  ///< an unknown key, or something that Paragrad cannot express
};

/// The entries of an SGD block, by section and key, with variables replaced. Unknown keys lead to remarks.
/// Functions that read a value throw ConfigError, with file and line, if it is of the wrong kind.
class CntkBlock {
 public:
  using Entry = BrainScript::Entry;

  /// Finds the block: the first one of that name at any depth or, without one, the whole file if it contains such keys.
  /// Throws ConfigError if there is none.
  explicit CntkBlock(const BrainScript& script);

  /// Reads the block `name` of section `outer`, if present.
  void read(CntkSection outer, const char* name, CntkSection inner);

  int line() const { return line_; }
  const Entry* find(CntkSection section, const char* name) const;  ///< null if absent, or if its variable is not in the file
  bool given(CntkSection section, const char* name) const { return named_.contains({section, name}); }
  std::optional<Entry> outside(const char* name) const;  ///< the value of that name in the innermost enclosing block

  /// The value of that name in a block `reader` next to the SGD block or to one that encloses it, the innermost first.
  std::optional<Entry> in_reader(const char* name) const;

  double number(const Entry& entry) const;
  double whole(const Entry& entry) const;
  bool yes_no(const Entry& entry) const;
  /// 0.1*2:0.05 is 0.1 for two epochs, then 0.05. Repetitions of the last value are dropped.
  std::vector<double> list(const Entry& entry) const;
  bool is_yes(CntkSection section, const char* name, bool by_default) const;
  /// Null if none of them is present; throws if several are.
  const Entry* only_one_of(CntkSection section, std::initializer_list<const char*> names) const;

  core::ConfigError error(const Entry& entry, std::string_view message) const { return script_.error(entry.line, message); }
  void note(int line, std::string text) { remarks_.push_back({line, std::move(text), false}); }
  void lose(int line, std::string text) { remarks_.push_back({line, std::move(text), true}); }
  std::vector<CntkRemark> remarks() const;  ///< sorted by line

 private:
  using Entries = BrainScript::Entries;
  using Path = std::vector<Entries>;  // the enclosing blocks of an SGD block, outermost first; the last is the block itself
  using Name = std::pair<CntkSection, std::string>;  // spelled as in the table

  void find_block();
  void look_for_sgd(Path& path, std::vector<Path>& found, std::vector<int>& lines) const;
  void collect(CntkSection section, const Entries& entries);
  void keep(const CntkKey& key, const Entry& entry);
  void inherit();
  std::optional<std::string> resolved(const std::string& text) const;

  const BrainScript& script_;
  int line_ = 1;
  Path path_;
  std::map<Name, Entry> entries_;
  std::set<Name> named_;  // including those whose value is not in the file
  std::vector<CntkRemark> remarks_;
};

/// Splits "a : b" at ':' and trims blanks around the parts.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Accepts infinity as CNTK writes it; nothing if the text is not a number.
std::optional<double> to_number(std::string_view text);

}  // namespace paragrad::app
