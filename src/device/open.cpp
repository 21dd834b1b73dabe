// One line a device.
#include "device/open.hpp"

#include "device/machine/machine_device.hpp"
#include "device/null/null_device.hpp"

namespace peraxis::device {

Result<std::unique_ptr<Device>> open_device(std::string_view name) {
  if (name == "sim") return std::unique_ptr<Device>(std::make_unique<MachineDevice>());
  if (name == "null") return std::unique_ptr<Device>(std::make_unique<NullDevice>());
  return fail(ErrorCode::InvalidArgument, "no device '{}': there are 'sim' and 'null'", name);
}

}  // namespace peraxis::device
