// See the header.
#include "backends.hpp"

#include "device/machine/machine_device.hpp"

namespace peraxis::device::test {
namespace {

std::unique_ptr<Device> open_sim(int64_t addresses) {
  return std::make_unique<MachineDevice>(machine::Options{}, addresses);
}
void lose_sim(Device& device) {
  static_cast<MachineDevice&>(device).lose();
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {
      {"sim", open_sim, lose_sim},
  };
  return all;
}

}  // namespace peraxis::device::test
