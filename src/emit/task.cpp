#include "emit/task.hpp"

#include "emit/convolution.hpp"

namespace peraxis::emit {
namespace {

struct Emitter {
  Result<Program> operator()(const rk3588::ConvTask& task) const { return convolution(task); }
#define PERAXIS_TASK(kind, type, name, word, emitter) \
  Result<Program> operator()(const rk3588::type& task) const { return emitter(task); }
#include "target/rk3588/task_kinds.def"
#undef PERAXIS_TASK
};

}  // namespace

Result<Program> program(const rk3588::Task& task) {
  return std::visit(Emitter(), task);
}

}  // namespace peraxis::emit
