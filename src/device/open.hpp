// The devices of this build, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace peraxis::device {

// Names of the devices that run models, the first being what stands in where there is no other.
std::vector<std::string> running_devices();

// "sim" (the machine model) or "null" (accepts no work). InvalidArgument for other names.
Result<std::unique_ptr<Device>> open_device(std::string_view name);

}  // namespace peraxis::device
