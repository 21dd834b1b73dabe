#include "emit/task.hpp"

#include "emit/convolution.hpp"

namespace peraxis::emit {
namespace {

struct Emitter {
  Result<Program> operator()(const rk3588::ConvTask& task) const { return convolution(task); }
  Result<Program> operator()(const rk3588::PoolTask& task) const { return pooling(task); }
  Result<Program> operator()(const rk3588::ElementTask& task) const { return element_wise(task); }
  Result<Program> operator()(const rk3588::UpsampleTask& task) const { return upsampling(task); }
  Result<Program> operator()(const rk3588::TableTask& task) const { return table_loading(task); }
};

}  // namespace

Result<Program> program(const rk3588::Task& task) {
  return std::visit(Emitter(), task);
}

}  // namespace peraxis::emit
