// Layouts and regions of the placed program, which lowering reads and makes.
#pragma once

#include "program/layout.hpp"
#include "program/program.hpp"
#include "program/task_memory.hpp"

namespace peraxis::lower {

using program::channel_range;
using program::ChannelRange;
using program::flat_layout;
using program::for_addresses;
using program::join;
using program::JoinedPart;
using program::Layout;
using program::plain_layout;
using program::Region;
using program::TaskKind;

}  // namespace peraxis::lower
