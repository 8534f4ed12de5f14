#include "metrics/run_folder.hpp"

#include <filesystem>
#include <system_error>

#include "core/errors.hpp"
#include "core/file_replacement.hpp"
#include "core/format.hpp"

namespace paragrad::metrics {
namespace fs = std::filesystem;

RunFolder::RunFolder(std::string path, bool overwrite) : path_(std::move(path)) {
  if (fs::exists(file("config.toml"))) {
    if (!overwrite)
      throw core::ConfigError(core::format("'{}' holds a run already; choose another --out or add --overwrite", path_));
    for (const char* name : {"config.toml", "manifest.json", "metrics.jsonl", "checkpoint.h5", "timeline.json"})
      fs::remove(file(name));
  }
  std::error_code error;
  fs::create_directories(path_, error);
  metrics_.open(file("metrics.jsonl"));
  if (error || !metrics_) throw core::ConfigError(core::format("cannot write into the folder '{}'", path_));
}

void RunFolder::write(const std::string& name, const std::string& content) const {
  core::FileReplacement replacement(file(name));
  std::ofstream out(replacement.temporary_path(), std::ios::binary);
  out << content;
  out.close();
  if (!out) throw core::ConfigError(core::format("cannot write '{}': is the disk full?", file(name)));
  replacement.commit();
}

void RunFolder::record(const core::Json& record) {
  // A path in a record need not be UTF-8; JSON must.
  metrics_ << record.dump(-1, ' ', false, core::Json::error_handler_t::replace) << std::endl;
  if (!metrics_) throw core::ConfigError(core::format("cannot write '{}': is the disk full?", file("metrics.jsonl")));
}

}  // namespace paragrad::metrics
