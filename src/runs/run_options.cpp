#include "runs/run_options.hpp"

#include <filesystem>
#include <sstream>

#include "runs/any_world_arguments.hpp"
#include "system/files.hpp"

namespace paragrad::runs {
namespace {

using MarkedOptions = std::map<core::OptionMark, std::set<std::string>>;

MarkedOptions marked_options() {
  core::OptionList list;
  AnyWorldArguments arguments;
  arguments.describe(list);
  MarkedOptions marked;
  for (const core::OptionInfo& info : list.infos())
    for (const core::OptionMark mark : info.marks) marked[mark].insert(info.name);
  return marked;
}

}  // namespace

RunOptions options_in(const std::string& config) {
  RunOptions options;
  std::istringstream lines(config);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (line.empty() || line.front() == '#' || equals == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(' ', equals - 1) + 1);
    if (!options_with(core::OptionMark::observes).contains(key)) options[key] = line.substr(equals + 1);
  }
  return options;
}

RunOptions options_of(const std::string& run_folder) {
  const std::string path = run_folder + "/config.toml";
  return std::filesystem::exists(path) ? options_in(system::read_text(path)) : RunOptions{};
}

RunOptions without_seed(RunOptions options) {
  const auto seed = options.find("seed");
  if (seed == options.end()) return options;
  const std::string number = seed->second;
  options.erase(seed);
  const auto init = options.find("init");
  if (init == options.end()) return options;
  std::string& path = init->second;
  const auto is_digit = [&](std::size_t at) { return at < path.size() && path[at] >= '0' && path[at] <= '9'; };
  const auto file = path.rfind('/'), folder = file == std::string::npos || file == 0 ? file : path.rfind('/', file - 1);
  for (auto at = path.find(number, folder == std::string::npos ? 0 : folder); at != std::string::npos;
       at = path.find(number, at + 1))
    if (!(at > 0 && is_digit(at - 1)) && !is_digit(at + number.size())) path.replace(at, number.size(), "{seed}");
  return options;
}

const std::set<std::string>& options_with(core::OptionMark mark) {
  static const MarkedOptions marked = marked_options();
  static const std::set<std::string> none;
  const auto found = marked.find(mark);
  return found == marked.end() ? none : found->second;
}

}  // namespace paragrad::runs
