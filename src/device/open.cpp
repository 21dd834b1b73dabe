// One line a device.
#include "device/open.hpp"

#include <algorithm>
#include <array>

#include "device/machine/machine_device.hpp"
#include "device/null/null_device.hpp"

namespace peraxis::device {
namespace {

struct Entry {
  const char* name;
  bool runs;  // models: users may choose it
  std::unique_ptr<Device> (*make)();
};
template <class T>
std::unique_ptr<Device> make() {
  return std::make_unique<T>();
}
constexpr std::array kDevices{Entry{"sim", true, make<MachineDevice>},
                              Entry{"null", false, make<NullDevice>}};

}  // namespace

std::vector<std::string> running_devices() {
  std::vector<std::string> out;
  for (const Entry& entry : kDevices)
    if (entry.runs) out.emplace_back(entry.name);
  return out;
}

Result<std::unique_ptr<Device>> open_device(std::string_view name) {
  std::string names;
  for (const Entry& entry : kDevices) {
    if (name == entry.name) return entry.make();
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", entry.name);
  }
  return fail(ErrorCode::InvalidArgument, "no device '{}'; there are: {}", name, names);
}

}  // namespace peraxis::device
