#include "fault_plan.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <sstream>

namespace paragrad::faults {
namespace {

/// Direct system calls, which are not intercepted.
int bare_open(const char* path, int flags) { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, 0666)); }

std::string link_target(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const auto length = ::syscall(SYS_readlinkat, AT_FDCWD, path.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

[[noreturn]] void refuse(const std::string& word) {
  std::fprintf(stderr, "PARAGRAD_FAULT: unknown '%s'\n", word.c_str());
  std::abort();
}

int error_named(const std::string& name) {
  static const std::map<std::string, int> errors{{"EIO", EIO},     {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
                                                 {"EINTR", EINTR}, {"EMFILE", EMFILE}, {"ENODEV", ENODEV}};
  const auto found = errors.find(name);
  return found != errors.end() ? found->second : (refuse(name), 0);
}

std::string one_of(const std::set<std::string>& known, const std::string& word) {
  return known.contains(word) ? word : (refuse(word), "");
}

bool is_this_rank(const std::string& rank) {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* own = std::getenv(name); own != nullptr) return rank == own;
  return false;
}

/// A later call, after the fault, at which the process is killed.
struct SecondFault {
  bool after = false;
  std::string call, part;
  bool is(const FileCall& other) const { return call == other.name && other.path.find(part) != std::string::npos; }
};

struct Plan {
  std::string folder, what, clock;
  long at = 0;
  int error = 0, log = -1, journal = -1;
  SecondFault then;
  bool valid = true;
  std::atomic<long>* count = nullptr;  ///< shared with forked processes

  Plan() {
    std::istringstream words(std::getenv("PARAGRAD_FAULT") != nullptr ? std::getenv("PARAGRAD_FAULT") : "");
    for (std::string word; words >> word;) take(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
    void* shared = ::mmap(nullptr, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    count = new (shared) std::atomic<long>(0);
  }

  void take(const std::string& key, const std::string& value) {
    if (key == "folder") {
      folder = value;
    } else if (key == "do") {
      what = one_of({"fail", "fail_on", "short", "kill", "kill_after", "tear"}, value);
    } else if (key == "clock") {
      clock = one_of({"back", "leap", "zero"}, value);
    } else if (key == "at") {
      at = std::stol(value);
    } else if (key == "errno") {
      error = error_named(value);
    } else if (key == "log") {
      log = bare_open(value.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    } else if (key == "journal") {
      journal = bare_open(value.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    } else if (key == "rank") {
      valid = is_this_rank(value);
    } else if (key == "then") {
      const auto name = value.find(':') + 1, part = value.find(':', name) + 1;
      then = {value.substr(0, name - 1) == "after", value.substr(name, part - 1 - name), value.substr(part)};
    } else {
      refuse(key);
    }
  }

  bool watches(const std::string& path) const {
    return path.compare(0, folder.size(), folder) == 0 && (path.size() == folder.size() || path[folder.size()] == '/');
  }

  /// A full or read-only disk fails only writing calls; a broken one fails all.
  bool can_refuse(const FileCall& call) const { return call.writes || error == EIO; }
};

thread_local bool busy = false;

const Plan& plan() {
  busy = true;
  static const Plan instance;
  busy = false;
  return instance;
}

void write_log(long number, const FileCall& call) {
  const std::string line = std::to_string(number) + "\t" + call.name + "\t" + (call.writes ? "w" : "r") + "\t" +
                           std::to_string(call.bytes) + "\t" + call.path + "\n";
  ::syscall(SYS_write, plan().log, line.data(), line.size());
}

Fate fate_of(const FileCall& call, long number) {
  const auto& [folder, what, clock, at, error, log, journal, then, valid, count] = plan();
  if (at == 0 || number < at) return Fate::succeed;
  if (number > at && then.is(call)) {
    if (!then.after) die();
    return Fate::die_after;
  }
  if ((what == "fail" && number == at) || (what == "fail_on" && (number == at || plan().can_refuse(call)))) {
    errno = error;
    return Fate::fail;
  }
  if (number > at) return Fate::succeed;
  if (what == "kill") die();
  if (what == "kill_after") return Fate::die_after;
  if (what == "short") return Fate::fall_short;
  if (what == "tear") return Fate::die_halfway;
  return Fate::succeed;
}

}  // namespace

bool watching() { return !busy && plan().valid && !plan().folder.empty(); }

bool watches(const std::string& path) { return plan().watches(path); }

int journal() { return plan().journal; }

std::string clock_error() { return plan().at > 0 && plan().count->load() >= plan().at ? plan().clock : ""; }

std::string absolute_path(const char* path, int folder_descriptor) {
  if (path[0] == '/') return path;
  return (folder_descriptor == AT_FDCWD ? link_target("/proc/self/cwd") : path_of(folder_descriptor)) + "/" + path;
}

std::string path_of(int descriptor) { return link_target("/proc/self/fd/" + std::to_string(descriptor)); }

Fate meet(const FileCall& call) {
  if (!plan().watches(call.path)) return Fate::succeed;
  const long number = plan().count->fetch_add(1) + 1;
  if (plan().log >= 0) write_log(number, call);
  return fate_of(call, number);
}

void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace paragrad::faults
