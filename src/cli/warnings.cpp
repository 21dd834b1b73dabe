// See warnings.hpp.
#include "cli/warnings.hpp"

namespace peraxis::cli {
void print_warnings(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += "warning: " + printable_message(warning) + "\n";
  if (!text.empty()) print_notice(text);
}

}  // namespace peraxis::cli
