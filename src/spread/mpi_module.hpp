// The interface between the program and its module nereus_mpi.so (src/mpi/module.cpp). Only the
// module links Open MPI, so that the program builds and starts without it; mpi_link.hpp loads the
// module when a launcher has started several ranks. It is plain C, so that only these functions
// cross the boundary.
//
//   const auto get = reinterpret_cast<NereusMpiModule* (*)()>(dlsym(module, "nereus_mpi_module"));
//   if (get()->interface_version == kNereusMpiInterface) get()->open(...);
#pragma once

#include <cstddef>

extern "C" {

struct NereusMpiFacts {
  int rank;
  int size;
  // Number of cores for this rank: those it may use, divided among the ranks of this machine.
  int threads;
  char host[256];
};

struct NereusMpiModule {
  int interface_version;
  const char* build;  // version and commit, as in the program

  // Returns 0, or an error code with a text. Called once.
  int (*open)(NereusMpiFacts* facts, char* error, std::size_t error_size);
  // Copies the data. Returns 0, or nonzero if MPI reports that the rank cannot be reached.
  int (*send)(int to, const char* data, std::size_t size);
  // Returns 1 and the message, which is valid until the next call; 0 if there is none.
  int (*receive)(int* from, const char** data, std::size_t* size);
  std::size_t (*num_pending)(int to);
  // Like spread::Link::close.
  void (*close)(int all_there, int exit_code);
};

typedef const NereusMpiModule* (*NereusMpiModuleFunction)();
}

constexpr int kNereusMpiInterface = 1;
constexpr const char* kNereusMpiSymbol = "nereus_mpi_module";
