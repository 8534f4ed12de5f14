#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "app/program_parser.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi/mpi_session.hpp"
#include "comm/mpi/rank_guard.hpp"
#include "core/errors.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"
#include "system/files.hpp"
#include "system/mapping_fault_handler.hpp"
#include "worlds/interruption.hpp"

using namespace paragrad;

namespace {

/// Prints the error. Returns the exit code. Ranks that have begun to use MPI have handled their errors themselves.
int fail(const std::string& message, int code) {
  comm::let_first_rank_speak();
  cli::print_error(message);
  comm::end_waiting_peers(code);
  return code;
}

/// The reason of an earlier failure is no longer known.
int fail_to_print() { return fail("cannot write all of the output to the standard output", cli::user_error); }

}  // namespace

int main(int argc, char** argv) {
  system::report_mapping_faults(cli::user_error);
  worlds::print_notice_on_signals();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file-size limit then fails with EFBIG, an ordinary error
  try {
    const int code = app::run_program({argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))});
    return code == cli::success && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) ? fail_to_print() : code;
  } catch (const core::ConfigError& error) {
    return fail(error.what(), cli::user_error);
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(system::describe(error), cli::user_error);
  } catch (const std::bad_alloc&) {
    return fail(core::out_of_memory(), cli::user_error);
  } catch (const comm::Failure& error) {  // an emulated failure
    return fail(error.what(), cli::peer_failure);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return fail_to_print();
    return fail(core::format("internal error: {}", error.what()), cli::internal_error);
  }
}
