// What the program and its module nereus_mpi.so (src/mpi/module.cpp) agree on. The module alone
// links Open MPI, so that the program builds and starts without it; it is opened by mpi_link.hpp
// when a launcher has started several ranks. Plain C, so that nothing but these functions crosses.
//
//   const auto get = reinterpret_cast<NereusMpiModule* (*)()>(dlsym(module, "nereus_mpi_module"));
//   if (get()->interface_version == kNereusMpiInterface) get()->open(...);
#pragma once

#include <cstddef>

extern "C" {

struct NereusMpiFacts {
  int rank;
  int size;
  int threads;  // cores of this rank: those it may run on, shared with the ranks of this machine
  char host[256];
};

struct NereusMpiModule {
  int interface_version;
  const char* build;  // version and commit, as the program has them

  // 0, or an error with its text. Once.
  int (*open)(NereusMpiFacts* facts, char* error, std::size_t error_size);
  // Takes a copy; 0, or nonzero where MPI says that the rank cannot be reached.
  int (*send)(int to, const char* data, std::size_t size);
  // 1 and the message, which is valid until the next call; 0 where there is none.
  int (*receive)(int* from, const char** data, std::size_t* size);
  std::size_t (*num_pending)(int to);
  // As spread::Link::close.
  void (*close)(int all_there, int exit_code);
};

typedef const NereusMpiModule* (*NereusMpiModuleFunction)();
}

constexpr int kNereusMpiInterface = 1;
constexpr const char* kNereusMpiSymbol = "nereus_mpi_module";
