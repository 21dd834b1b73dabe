// See difference_text.hpp.
#include "cli/difference_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace peraxis::cli {
namespace {

constexpr const char* kBuckets[] = {"-2-", "-1", "0", "1", "2+"};

}  // namespace

Json difference_json(const Difference& d) {
  Json out{{"elements", d.elements},
           {"differing", d.differing},
           {"percent", d.percent()},
           {"max", d.max},
           {"mean", d.mean()}};
  for (size_t i = 0; i < d.histogram.size(); ++i) out["histogram"][kBuckets[i]] = d.histogram[i];
  return out;
}

std::string histogram_text(const Difference& d) {
  return fmt::format("{}/{}/{}/{}/{}", d.histogram[0], d.histogram[1], d.histogram[2], d.histogram[3],
                     d.histogram[4]);
}

}  // namespace peraxis::cli
