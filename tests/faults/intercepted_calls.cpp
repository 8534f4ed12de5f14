// Preloaded replacements of the C library's file functions: each asks the fault plan what happens to the call, and enters in
// the journal what the call changes.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "fault_plan.hpp"
#include "journal.hpp"
#include "next_function.hpp"

using paragrad::faults::absolute_path;
using paragrad::faults::Fate;
using paragrad::faults::FileCall;
using paragrad::faults::next_function;
using paragrad::faults::path_of;

namespace {

/// Runs `go` or, if the plan requires it, returns `failure` with errno set. `call` is evaluated only if files are watched.
template <typename Call, typename Result, typename Go>
Result carry_out(const Call& call, Result failure, const Go& go) {
  if (!paragrad::faults::watching()) return go();
  const int before = errno;
  const FileCall made = call();
  errno = before;
  const Fate fate = paragrad::faults::meet(made);
  if (fate == Fate::fail) return failure;
  const Result result = go();
  if (fate == Fate::die_after || fate == Fate::die_halfway) paragrad::faults::die();
  return result;
}

/// Calls `go(bytes)` with all bytes or half of them.
template <typename Go>
ssize_t carry_over(const char* name, int descriptor, bool writes, std::size_t bytes, const Go& go) {
  if (!paragrad::faults::watching()) return go(bytes);
  const int before = errno;
  const FileCall made{name, path_of(descriptor), writes, bytes};
  errno = before;
  const Fate fate = paragrad::faults::meet(made);
  if (fate == Fate::fail) return -1;
  const bool halved = (fate == Fate::fall_short || fate == Fate::die_halfway) && bytes > 1;
  const ssize_t result = go(halved ? bytes / 2 : bytes);
  if (fate == Fate::die_after || fate == Fate::die_halfway) paragrad::faults::die();
  return result;
}

/// The end of an entry, see journal.hpp.
struct Detail {
  off_t number = 0;
  std::string content{};
};

/// Runs `go` and, if it succeeds, enters the call in the journal. path: of what it changes. detail: of its result, to the
/// entry.
template <typename Path, typename Result, typename Go, typename DetailOf>
Result enter(const char* name, const Path& path, Result failure, const Go& go, const DetailOf& detail) {
  if (!paragrad::faults::watching() || paragrad::faults::journal() < 0) return go();
  const int before = errno;
  const std::string changed = path();
  errno = before;
  if (!paragrad::faults::watches(changed)) return go();
  paragrad::faults::JournalTurn turn;
  const Result result = go();
  if (result == failure) return result;
  const int after = errno;
  const Detail found = detail(result);
  turn.enter({name, changed, found.number, found.content});
  errno = after;
  return result;
}

/// The bytes [begin, begin + bytes) of an open file, even if it is open only for writing.
std::string read_back(int file, off_t begin, std::size_t bytes) {
  static const auto open_now = next_function<decltype(::open)>("open");
  static const auto pread_now = next_function<decltype(::pread)>("pread");
  static const auto close_now = next_function<decltype(::close)>("close");
  const int readable = open_now(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY | O_CLOEXEC);
  std::string content(bytes, '\0');
  const ssize_t got = pread_now(readable, content.data(), bytes, begin);
  close_now(readable);
  return got == static_cast<ssize_t>(bytes) ? content : "";
}

/// The same for a `go` that writes to a file. at: where, or null if that is the file's position.
template <typename Go>
ssize_t enter_bytes(const char* name, int file, const off_t* at, const Go& go) {
  const off_t given = at != nullptr ? *at : 0;
  return enter(
      name, [&] { return path_of(file); }, ssize_t{-1}, go,
      [&](ssize_t bytes) {
        const off_t begin = at != nullptr ? given : ::lseek(file, 0, SEEK_CUR) - bytes;
        return Detail{begin, read_back(file, begin, static_cast<std::size_t>(bytes))};
      });
}

int open_as(const char* name, int folder, const char* path, int flags, mode_t mode) {
  static const auto real = next_function<decltype(::openat)>("openat");
  return carry_out(
      [&] {
        return FileCall{name, absolute_path(path, folder), (flags & (O_CREAT | O_TRUNC)) != 0, 0};
      },
      -1,
      [&] {
        const auto go = [&] { return real(folder, path, flags, mode); };
        if ((flags & (O_CREAT | O_TRUNC)) == 0) return go();
        return enter(
            name, [&] { return absolute_path(path, folder); }, -1, go, [&](int) { return Detail{(flags & O_TRUNC) != 0}; });
      });
}

std::FILE* fopen_as(const char* name, const char* path, const char* mode) {
  static const auto real = next_function<decltype(::fopen)>("fopen");
  std::FILE* const none = nullptr;
  return carry_out(
      [&] {
        return FileCall{name, absolute_path(path, AT_FDCWD), mode[0] != 'r', 0};
      },
      none,
      [&] {
        const auto go = [&] { return real(path, mode); };
        if (mode[0] == 'r') return go();
        return enter(
            name, [&] { return absolute_path(path, AT_FDCWD); }, none, go,
            [&](std::FILE*) { return Detail{mode[0] == 'w'}; });
      });
}

/// The first `bytes` of the pieces.
std::vector<iovec> beginning(const iovec* pieces, int count, std::size_t bytes) {
  std::vector<iovec> kept;
  for (int i = 0; i < count && bytes > 0; ++i) {
    kept.push_back({pieces[i].iov_base, std::min(bytes, pieces[i].iov_len)});
    bytes -= kept.back().iov_len;
  }
  return kept;
}

ssize_t pread_as(const char* name, int file, void* data, std::size_t bytes, off_t at) {
  static const auto real = next_function<decltype(::pread)>("pread");
  return carry_over(name, file, false, bytes, [&](std::size_t n) { return real(file, data, n, at); });
}

ssize_t pwrite_as(const char* name, int file, const void* data, std::size_t bytes, off_t at) {
  static const auto real = next_function<decltype(::pwrite)>("pwrite");
  return carry_over(name, file, true, bytes,
                    [&](std::size_t n) { return enter_bytes(name, file, &at, [&] { return real(file, data, n, at); }); });
}

int ftruncate_as(const char* name, int file, off_t size) {
  static const auto real = next_function<decltype(::ftruncate)>("ftruncate");
  const auto path = [&] { return path_of(file); };
  return carry_out(
      [&] {
        return FileCall{name, path(), true, 0};
      },
      -1,
      [&] {
        return enter(
            name, path, -1, [&] { return real(file, size); }, [&](int) { return Detail{size}; });
      });
}

/// Skips the flush: a killed process loses nothing it has written, and trials take a tenth of the time.
int fsync_as(const char* name, int file) {
  const auto path = [&] { return path_of(file); };
  return carry_out(
      [&] {
        return FileCall{name, path(), true, 0};
      },
      -1,
      [&] {
        return enter(
            name, path, -1, [] { return 0; }, [](int) { return Detail{}; });
      });
}

/// For calls that remove or create a name. from: the old name, of a rename.
template <typename Go>
int name_as(const char* name, const char* path, int folder, bool writes, const Go& go, const char* from = "") {
  const auto named = [&] { return absolute_path(path, folder); };
  return carry_out(
      [&] {
        return FileCall{name, named(), writes, 0};
      },
      -1,
      [&] {
        return enter(name, named, -1, go, [&](int) {
          return Detail{0, from[0] == '\0' ? "" : absolute_path(from, folder)};
        });
      });
}

}  // namespace

// Each also under its 64-bit-offset name; all offsets are 64-bit here.
static_assert(sizeof(off_t) == 8);

extern "C" {

static mode_t mode_of(int flags, std::va_list rest) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_as("open", AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_as("open", AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_as("openat", folder, path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_as("openat", folder, path, flags, mode);
}

int creat(const char* path, mode_t mode) { return open_as("creat", AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char* path, mode_t mode) { return open_as("creat", AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

std::FILE* fopen(const char* path, const char* mode) { return fopen_as("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return fopen_as("fopen", path, mode); }

DIR* opendir(const char* path) {
  static const auto real = next_function<decltype(::opendir)>("opendir");
  return carry_out(
      [&] {
        return FileCall{"opendir", absolute_path(path, AT_FDCWD), false, 0};
      },
      static_cast<DIR*>(nullptr), [&] { return real(path); });
}

ssize_t read(int file, void* data, std::size_t bytes) {
  static const auto real = next_function<decltype(::read)>("read");
  return carry_over("read", file, false, bytes, [&](std::size_t n) { return real(file, data, n); });
}

ssize_t pread(int file, void* data, std::size_t bytes, off_t at) { return pread_as("pread", file, data, bytes, at); }
ssize_t pread64(int file, void* data, std::size_t bytes, off_t at) { return pread_as("pread", file, data, bytes, at); }

ssize_t write(int file, const void* data, std::size_t bytes) {
  static const auto real = next_function<decltype(::write)>("write");
  return carry_over("write", file, true, bytes,
                    [&](std::size_t n) { return enter_bytes("write", file, nullptr, [&] { return real(file, data, n); }); });
}

ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t at) {
  return pwrite_as("pwrite", file, data, bytes, at);
}
ssize_t pwrite64(int file, const void* data, std::size_t bytes, off_t at) {
  return pwrite_as("pwrite", file, data, bytes, at);
}

ssize_t writev(int file, const iovec* pieces, int count) {
  static const auto real = next_function<decltype(::writev)>("writev");
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return carry_over("writev", file, true, bytes, [&](std::size_t n) {
    const auto kept = beginning(pieces, count, n);
    return enter_bytes("writev", file, nullptr, [&] { return real(file, kept.data(), static_cast<int>(kept.size())); });
  });
}

ssize_t copy_file_range(int from, off_t* from_at, int to, off_t* to_at, std::size_t bytes, unsigned flags) {
  static const auto real = next_function<decltype(::copy_file_range)>("copy_file_range");
  struct stat status {};
  const bool known = ::fstat(from, &status) == 0;  // callers ask for more than exists: half of that may be everything
  if (known) bytes = std::min(bytes, static_cast<std::size_t>(status.st_size));
  return carry_over("copy_file_range", to, true, bytes, [&](std::size_t n) {
    return enter_bytes("copy_file_range", to, to_at, [&] { return real(from, from_at, to, to_at, n, flags); });
  });
}

int ftruncate(int file, off_t size) noexcept { return ftruncate_as("ftruncate", file, size); }
int ftruncate64(int file, off_t size) noexcept { return ftruncate_as("ftruncate", file, size); }

int fsync(int file) { return fsync_as("fsync", file); }
int fdatasync(int file) { return fsync_as("fdatasync", file); }

// As on Linux: the descriptor is closed whatever close returns.
int close(int file) {
  static const auto real = next_function<decltype(::close)>("close");
  if (!paragrad::faults::watching()) return real(file);
  bool done = false;
  const int result = carry_out(
      [&] {
        return FileCall{"close", path_of(file), false, 0};
      },
      -1,
      [&] {
        done = true;
        return real(file);
      });
  if (!done) {
    const int error = errno;
    real(file);
    errno = error;
  }
  return result;
}

int fclose(std::FILE* stream) {
  static const auto real = next_function<decltype(::fclose)>("fclose");
  if (!paragrad::faults::watching()) return real(stream);
  bool done = false;
  const int result = carry_out(
      [&] {
        return FileCall{"fclose", path_of(::fileno(stream)), false, 0};
      },
      EOF,
      [&] {
        done = true;
        return real(stream);
      });
  if (!done) {
    const int error = errno;
    real(stream);
    errno = error;
  }
  return result;
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next_function<decltype(::rename)>("rename");
  return name_as(
      "rename", to, AT_FDCWD, true, [&] { return real(from, to); }, from);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = next_function<decltype(::mkdir)>("mkdir");
  return name_as("mkdir", path, AT_FDCWD, true, [&] { return real(path, mode); });
}

int rmdir(const char* path) noexcept {
  static const auto real = next_function<decltype(::rmdir)>("rmdir");
  return name_as("rmdir", path, AT_FDCWD, false, [&] { return real(path); });
}

int unlink(const char* path) noexcept {
  static const auto real = next_function<decltype(::unlink)>("unlink");
  return name_as("unlink", path, AT_FDCWD, false, [&] { return real(path); });
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static const auto real = next_function<decltype(::unlinkat)>("unlinkat");
  return name_as("unlinkat", path, folder, false, [&] { return real(folder, path, flags); });
}

int remove(const char* path) noexcept {
  static const auto real = next_function<decltype(::remove)>("remove");
  return name_as("remove", path, AT_FDCWD, false, [&] { return real(path); });
}

static void* mmap_as(void* where, std::size_t bytes, int protection, int flags, int file, off_t at) {
  static const auto real = next_function<decltype(::mmap)>("mmap");
  if (file < 0) return real(where, bytes, protection, flags, file, at);
  return carry_out(
      [&] {
        return FileCall{"mmap", path_of(file), false, 0};
      },
      MAP_FAILED, [&] { return real(where, bytes, protection, flags, file, at); });
}

void* mmap(void* where, std::size_t bytes, int protection, int flags, int file, off_t at) noexcept {
  return mmap_as(where, bytes, protection, flags, file, at);
}

void* mmap64(void* where, std::size_t bytes, int protection, int flags, int file, off_t at) noexcept {
  return mmap_as(where, bytes, protection, flags, file, at);
}

}  // extern "C"
