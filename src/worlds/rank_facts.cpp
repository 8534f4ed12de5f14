#include "worlds/rank_facts.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "comm/allreduce.hpp"
#include "core/build_info.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/join.hpp"
#include "core/json.hpp"

namespace paragrad::worlds {
namespace {

/// Values may be as long as the text of a network.
std::string shortened(const std::string& value) {
  constexpr std::size_t most = 40;
  if (value.empty()) return "not given";
  return value.size() <= most ? value : value.substr(0, most) + "…";
}

std::string difference(const std::string& name, const std::string& mine, const std::string& of_zero) {
  const std::string here = shortened(mine), there = shortened(of_zero);
  return here == there ? core::format("{} differs", name) : core::format("{} is {} instead of {}", name, here, there);
}

/// Empty if there is none.
std::string differences(const RankFacts& mine, const RankFacts& of_zero) {
  constexpr std::size_t most = 4;
  std::set<std::string> names;
  for (const RankFacts* facts : {&mine, &of_zero})
    for (const auto& [name, _] : *facts) names.insert(name);
  const auto in = [](const RankFacts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string() : found->second;
  };
  if (in(mine, "the command") != in(of_zero, "the command"))  // whose options differ, too
    return difference("the command", in(mine, "the command"), in(of_zero, "the command"));
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (in(mine, name) != in(of_zero, name)) found.push_back(difference(name, in(mine, name), in(of_zero, name)));
  if (found.size() > most) {
    const std::string rest = core::format("and {} more", found.size() - most);
    found.resize(most);
    found.push_back(rest);
  }
  return core::format("{}", core::join(found, ", "));
}

}  // namespace

RankFacts facts_of(const std::string& command, const core::OptionList& options) {
  const core::BuildInfo build = core::build_info();
  RankFacts facts{{"the command", command},
                  {"the program", core::format("{} {} {}", build.version, build.commit, build.dirty_sha256)}};
  for (const core::AddedSource& source : core::added_sources()) facts["the program's " + source.file] = source.sha256;
  for (const auto& [info, _] : options.members()) {
    if (info.kind.empty() || info.is(core::OptionMark::of_one_rank)) continue;
    const bool is_path = info.kind == "PATH" && !info.value.empty();
    facts[(info.positional ? "" : "--") + info.name] = is_path ? "given" : info.value;
  }
  return facts;
}

RankFacts facts_of(const data::DatasetInfo& info) {
  return {{"the content_sha256 of the data file", info.content_sha256},
          {"the list of class names", core::format("{}", core::join(info.class_names, ","))}};
}

RankFacts facts_of(const data::DatasetInfo& info, const train::Checkpoint& checkpoint) {
  RankFacts facts = facts_of(info);
  facts["the checkpoint's model"] = checkpoint.model;
  facts["the checkpoint's loss"] = checkpoint.loss;
  facts["the SHA-256 of the checkpoint's weights"] = train::parameters_sha256(checkpoint.parameters);
  return facts;
}

void require_same(comm::Communicator& ranks, const RankFacts& facts) {
  const std::string mine = core::text_of(core::Json(facts));
  const std::string of_zero = comm::first_text(ranks, ranks.rank() == 0 ? mine : "");
  comm::agree(ranks, [&] {
    const std::string found =
        differences(core::parse_json(mine).get<RankFacts>(), core::parse_json(of_zero).get<RankFacts>());
    if (!found.empty())
      throw core::ConfigError(core::format(
          "rank {} differs from rank 0: {}; start all ranks with the same options and files", ranks.rank(), found));
  });
}

}  // namespace paragrad::worlds
