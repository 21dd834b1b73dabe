// What every backend asks of a job before it takes it, because drivers drop a wrong one without a word.
#pragma once

#include "device/device.hpp"

namespace peraxis::device {

// Counts, cores, lists and ranges as Job's comments demand. InvalidArgument or, for more chains than
// `device` has cores for, Unsupported.
Status check_job(const Job& job, const Device& device);
// offset..offset + bytes lies in the buffer; else InvalidArgument.
Status check_range(const Buffer& buffer, int64_t offset, int64_t bytes);

}  // namespace peraxis::device
