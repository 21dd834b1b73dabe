// Constants in the forms files keep them: plain, packed below 8 bits, sparse.
#include <algorithm>
#include <cstring>

#include "import/tflite_reader.hpp"
#include "ir/shape.hpp"

namespace peraxis::import {

namespace {

// The first value is in the low bits of the first byte.
std::vector<uint8_t> unpacked(std::span<const uint8_t> data, int bits, bool is_signed, size_t count) {
  const auto mask = static_cast<uint8_t>((1 << bits) - 1);
  const auto half = static_cast<uint8_t>(1 << (bits - 1));
  std::vector<uint8_t> out(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * static_cast<size_t>(bits);
    const auto value = static_cast<uint8_t>((data[at / 8] >> (at % 8)) & mask);
    // Two's complement of the narrow number: its sign goes up to the eighth bit.
    out[i] = is_signed ? static_cast<uint8_t>((value ^ half) - half) : value;
  }
  return out;
}

// The indices of one level, whichever type they are stored in.
Result<std::vector<int32_t>> index_vector(tfl::SparseIndexVector type, const void* table) {
  const auto copy = [](const auto* vector) {
    return vector == nullptr ? std::vector<int32_t>() : std::vector<int32_t>(vector->begin(), vector->end());
  };
  if (table != nullptr) {
    switch (type) {
      case tfl::SparseIndexVector::Int32Vector:
        return copy(static_cast<const tfl::Int32Vector*>(table)->values());
      case tfl::SparseIndexVector::Uint16Vector:
        return copy(static_cast<const tfl::Uint16Vector*>(table)->values());
      case tfl::SparseIndexVector::Uint8Vector:
        return copy(static_cast<const tfl::Uint8Vector*>(table)->values());
      default:
        break;
    }
  }
  return fail(ErrorCode::InvalidModel, "a sparse dimension without its indices (type {})",
              static_cast<int>(type));
}

// One dimension of the traversal: a whole one, counted in blocks, or one inside a block.
struct Level {
  size_t dimension = 0;  // of the tensor
  int64_t step = 1;      // elements of that dimension that one step here is
  int64_t size = 0;
  bool is_sparse = false;
  std::vector<int32_t> segments, indices;
};

class Densifier {
 public:
  Densifier(std::span<const int32_t> shape, size_t element, std::span<const uint8_t> data)
      : shape_(shape), element_(element), data_(data), strides_(shape.size(), 1) {
    for (size_t i = shape.size(); i-- > 1;) strides_[i - 1] = strides_[i] * shape[i];
  }

  Status read_levels(const tfl::SparsityParameters& sparsity) {
    const auto* order = sparsity.traversal_order();
    const auto* metadata = sparsity.dim_metadata();
    const size_t blocks = sparsity.block_map() == nullptr ? 0 : sparsity.block_map()->size();
    const size_t levels = shape_.size() + blocks;
    if (blocks > shape_.size() || order == nullptr || order->size() != levels || metadata == nullptr ||
        metadata->size() != levels) {
      return fail(ErrorCode::InvalidModel,
                  "a sparse tensor of rank {} with {} blocked dimensions has {} dimensions in its order and "
                  "{} in its metadata; both must be {}",
                  shape_.size(), blocks, order == nullptr ? 0 : order->size(),
                  metadata == nullptr ? 0 : metadata->size(), levels);
    }
    std::vector<int64_t> block(shape_.size(), 1);  // by dimension: its extent inside a block
    std::vector<bool> seen(levels);
    for (size_t i = levels; i-- > 0;) {
      const auto at = static_cast<flatbuffers::uoffset_t>(i);
      PERAXIS_TRY_NOTE(read_level(sparsity, order->Get(at), *metadata->Get(at), i, block, seen),
                       "in level {}", i);
    }
    std::ranges::reverse(levels_);
    return {};
  }

  Result<std::vector<uint8_t>> run(size_t bytes) {
    dense_.assign(bytes, 0);
    PERAXIS_TRY(walk(0, 0, 0));
    if (taken_ * element_ != data_.size()) {
      return fail(ErrorCode::InvalidModel, "a sparse tensor places {} values, its buffer has {} bytes",
                  taken_, data_.size());
    }
    return std::move(dense_);
  }

 private:
  Status read_level(const tfl::SparsityParameters& sparsity, int32_t place,
                    const tfl::DimensionMetadata& metadata, size_t index, std::vector<int64_t>& block,
                    std::vector<bool>& seen) {
    const size_t rank = shape_.size();
    const bool whole = index < rank;  // whole dimensions come first, then those inside blocks
    const auto named = static_cast<size_t>(place);
    if (place < 0 || named >= seen.size() || seen[named] || (named < rank) != whole) {
      return fail(ErrorCode::InvalidModel, "dimension {} is out of its place in the order", place);
    }
    seen[named] = true;
    Level level;
    level.dimension = named;
    if (!whole) {
      const int32_t mapped = sparsity.block_map()->Get(static_cast<flatbuffers::uoffset_t>(named - rank));
      if (mapped < 0 || static_cast<size_t>(mapped) >= rank || block[static_cast<size_t>(mapped)] != 1)
        return fail(ErrorCode::InvalidModel, "a block splits dimension {} of {}", mapped, rank);
      level.dimension = static_cast<size_t>(mapped);
    }
    const int64_t extent = shape_[level.dimension];
    int64_t& inside = block[level.dimension];
    level.is_sparse = metadata.format() == tfl::DimensionType::SPARSE_CSR;
    level.size = metadata.dense_size();
    if (whole) {
      level.step = inside;
      level.size = level.is_sparse ? extent / inside : level.size;
    } else {
      inside = std::max<int64_t>(level.size, 1);
    }
    const bool fits = whole ? level.size * inside == extent : level.size > 0 && extent % level.size == 0;
    if (!fits || (level.is_sparse && !whole)) {
      return fail(ErrorCode::InvalidModel, "{} steps of dimension {} with {}, blocks of {}", level.size,
                  level.dimension, extent, inside);
    }
    if (level.is_sparse) {
      level.segments = PERAXIS_TRY(index_vector(metadata.array_segments_type(), metadata.array_segments()));
      level.indices = PERAXIS_TRY(index_vector(metadata.array_indices_type(), metadata.array_indices()));
    }
    levels_.push_back(std::move(level));
    return {};
  }

  // `entry`: which of this level's dense runs or segments; `offset`: elements, of the levels before.
  Status walk(size_t depth, int64_t entry, int64_t offset) {
    if (depth == levels_.size()) return take(offset);
    const Level& level = levels_[depth];
    const int64_t stride = level.step * strides_[level.dimension];
    if (!level.is_sparse) {
      for (int64_t i = 0; i < level.size; ++i)
        PERAXIS_TRY(walk(depth + 1, entry * level.size + i, offset + i * stride));
      return {};
    }
    const auto at = static_cast<size_t>(entry);
    if (at + 1 >= level.segments.size()) {
      return fail(ErrorCode::InvalidModel, "segment {} of {} in a sparse dimension", entry,
                  level.segments.size());
    }
    int32_t last = -1;  // indices rise, so that no place is visited twice
    for (int32_t i = level.segments[at]; i < level.segments[at + 1]; ++i) {
      if (i < 0 || static_cast<size_t>(i) >= level.indices.size() ||
          level.indices[static_cast<size_t>(i)] <= last ||
          level.indices[static_cast<size_t>(i)] >= level.size) {
        return fail(ErrorCode::InvalidModel,
                    "index {} of a sparse dimension with {} entries is missing or wrong", i,
                    level.indices.size());
      }
      last = level.indices[static_cast<size_t>(i)];
      PERAXIS_TRY(walk(depth + 1, i, offset + last * stride));
    }
    return {};
  }

  Status take(int64_t offset) {
    const size_t from = taken_ * element_;
    if (from + element_ > data_.size()) {
      return fail(ErrorCode::InvalidModel,
                  "a sparse tensor places more values than its buffer's {} bytes hold", data_.size());
    }
    std::memcpy(dense_.data() + static_cast<size_t>(offset) * element_, data_.data() + from, element_);
    ++taken_;
    return {};
  }

  std::span<const int32_t> shape_;
  size_t element_;
  std::span<const uint8_t> data_;
  std::vector<int64_t> strides_;
  std::vector<Level> levels_;
  std::vector<uint8_t> dense_;
  size_t taken_ = 0;
};

}  // namespace

int bits_of(tfl::TensorType type) {
  switch (type) {
    case tfl::TensorType::INT4:
    case tfl::TensorType::UINT4:
      return 4;
    case tfl::TensorType::INT2:
      return 2;
    default:
      return 8;
  }
}

Result<std::vector<uint8_t>> read_data(const tfl::Tensor& source, std::span<const uint8_t> data,
                                       const ir::Tensor& tensor, CopyBudget& budget) {
  const int64_t bytes = tensor.bytes();
  PERAXIS_TRY(budget.take(bytes));
  const int bits = bits_of(source.type());
  if (source.sparsity() != nullptr) {
    if (bits < 8) return fail(ErrorCode::Unsupported, "a sparse tensor of {} bits", bits);
    const auto element = static_cast<size_t>(ir::data_type_bytes(tensor.type));
    Densifier densifier(tensor.shape, element, data);
    PERAXIS_TRY(densifier.read_levels(*source.sparsity()));
    return densifier.run(static_cast<size_t>(bytes));
  }
  const int64_t wanted = bits < 8 ? (bytes * bits + 7) / 8 : bytes;
  if (static_cast<int64_t>(data.size()) != wanted) {
    return fail(ErrorCode::InvalidModel, "buffer {} has {} bytes, {} of shape {} needs {}", source.buffer(),
                data.size(),
                bits < 8 ? tfl::EnumNameTensorType(source.type()) : ir::data_type_name(tensor.type),
                ir::shape_text(tensor.shape), wanted);
  }
  if (bits < 8) {
    return unpacked(data, bits, source.type() != tfl::TensorType::UINT4, static_cast<size_t>(bytes));
  }
  return std::vector<uint8_t>(data.begin(), data.end());
}

}  // namespace peraxis::import
