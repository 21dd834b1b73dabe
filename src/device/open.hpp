// The devices of this build, by name.
#pragma once

#include <memory>
#include <string_view>

#include "device/device.hpp"

namespace peraxis::device {

// "sim" (the machine model) or "null" (accepts no work). InvalidArgument for other names.
Result<std::unique_ptr<Device>> open_device(std::string_view name);

}  // namespace peraxis::device
