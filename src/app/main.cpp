#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>

#include "app/mapping_faults.hpp"
#include "app/program_parser.hpp"
#include "comm/communicator.hpp"
#include "core/errors.hpp"
#include "core/files.hpp"
#include "core/format.hpp"
#include "core/memory.hpp"

using namespace paragrad;

int main(int argc, char** argv) {
  app::report_mapping_faults();
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file-size limit then fails with EFBIG, an ordinary error
  try {
    return app::run_program({argv + 1, static_cast<std::size_t>(std::max(argc - 1, 0))});
  } catch (const core::ConfigError& error) {
    app::print_error(error.what());
    return app::user_error;
  } catch (const std::filesystem::filesystem_error& error) {
    app::print_error(core::describe(error));
    return app::user_error;
  } catch (const std::bad_alloc&) {
    app::print_error(core::out_of_memory());
    return app::user_error;
  } catch (const comm::Failure& error) {  // an emulated failure; under MPI, the rank has handled its own
    app::print_error(error.what());
    return app::peer_failure;
  } catch (const std::exception& error) {
    app::print_error(core::format("internal error: {}", error.what()));
    return app::internal_error;
  }
}
