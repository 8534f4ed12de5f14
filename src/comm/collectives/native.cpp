#include <memory>

#include "comm/collectives/catalogue.hpp"
#include "comm/collectives/library_routine.hpp"

namespace paragrad::comm::collectives {

Entry native_entry() {
  return {.info = {.name = "native",
                   .summary = "the transport's own routine, such as MPI_Allreduce, with its own order of additions"},
          .allreduce = [](std::string_view) { return std::make_unique<LibraryAllreduce>(Library::transport); },
          .library = Library::transport};
}

}  // namespace paragrad::comm::collectives
