// MIRROR_PAD: the border repeats the input backwards, with its edge (SYMMETRIC) or without (REFLECT).
#include "kernels/elements.hpp"
#include "kernels/registry.hpp"
#include "kernels/walk.hpp"

namespace peraxis::kernels::reference {

Status mirror_pad(const Context& context) {
  PERAXIS_TRY(check_rule(context));
  const int64_t skip = PERAXIS_TRY(attributes<ir::MirrorPadAttributes>(context))->symmetric ? 0 : 1;
  const std::vector<int32_t>& in = context.input(0).shape;
  const std::vector<int32_t>& out = context.output().shape;
  const std::vector<int64_t> amounts = integers(context, 1);
  const std::vector<int64_t> strides = dense_strides(in);
  const size_t rank = in.size();
  std::vector<std::vector<int64_t>> offsets(rank);  // of the source, by output index of one dimension
  for (size_t d = 0; d < rank; ++d) {
    for (int64_t i = 0; i < out[d]; ++i) {
      int64_t at = i - amounts[2 * d];
      if (at < 0) at = -at - 1 + skip;
      if (at >= in[d]) at = 2 * in[d] - 1 - skip - at;
      offsets[d].push_back(at * strides[d]);
    }
  }
  const int64_t size = ir::data_type_bytes(context.input(0).type);
  std::vector<size_t> index(rank, 0);
  uint8_t* to = context.outputs[0].data();
  for (int64_t left = context.output().elements(); left > 0; --left) {
    int64_t from = 0;
    for (size_t d = 0; d < rank; ++d) from += offsets[d][index[d]];
    std::memcpy(to, context.inputs[0].data() + from * size, static_cast<size_t>(size));
    to += size;
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < offsets[d].size()) break;
      index[d] = 0;
    }
  }
  return {};
}

}  // namespace peraxis::kernels::reference
