#include "kernels/reference/pool.hpp"

namespace peraxis::kernels::reference {

Result<Pool> prepare_pool(const Context& context) {
  PERAXIS_TRY(check_arity(context, 1, 1));
  const auto* a = PERAXIS_TRY(attributes<ir::PoolAttributes>(context));
  const ir::Tensor& in = context.input(0);
  const ir::Tensor& out = context.output();
  if (in.type != out.type || in.shape.size() != 4 || out.shape.size() != 4) {
    return fail(ErrorCode::Unsupported, "{}: input and output must be maps of one type and rank 4",
                context.label());
  }
  if (a->filter_h < 1 || a->filter_w < 1 || a->stride_h < 1 || a->stride_w < 1) {
    return fail(ErrorCode::InvalidModel, "{}: filter {}x{} and stride {}x{} must be positive",
                context.label(), a->filter_h, a->filter_w, a->stride_h, a->stride_w);
  }
  // Only the limits of a fused activation look at the output's scale.
  if (a->activation != ir::Activation::None && out.type != ir::DataType::Float32)
    PERAXIS_TRY(activation_quant(context, out));
  Pool pool;
  pool.input = ir::nhwc(in);
  pool.output = ir::nhwc(out);
  pool.filter_h = a->filter_h;
  pool.filter_w = a->filter_w;
  pool.stride_h = a->stride_h;
  pool.stride_w = a->stride_w;
  pool.counts_padding = a->counts_padding;
  pool.input_zero = in.quant.first_zero_point();
  const auto [rows, cols] = ir::pool_axes(pool.input, *a);
  pool.pad_top = rows.before;
  pool.pad_left = cols.before;
  pool.activation = a->activation;
  pool.range = ir::activation_range(out, a->activation);
  if (pool.output != ir::Nhwc{pool.input.n, rows.out, cols.out, pool.input.c}) {
    return fail(ErrorCode::InvalidModel, "{}: output shape {}, expected [{},{},{},{}]", context.label(),
                shape_text(out.shape), pool.input.n, rows.out, cols.out, pool.input.c);
  }
  return pool;
}

}  // namespace peraxis::kernels::reference
