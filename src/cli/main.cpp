// The program. Everything is in the library, so that tests can link it.
#include "cli/cli.hpp"

int main(int argc, char** argv) {
  return peraxis::cli::run(argc, argv);
}
