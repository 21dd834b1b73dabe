// The .npy header is a Python dict literal. The parser below takes exactly the literals numpy writes
// (strings, True/False, tuples of integers, any key order) and no more of Python.
#include "base/npy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "base/check.hpp"
#include "base/file.hpp"

namespace peraxis::base {

static_assert(std::endian::native == std::endian::little, "array data is copied as it is, or swapped");

namespace {

struct Dtype {
  // codes: what numpy writes, then what else its dtype() takes; any of them may have an order of bytes before
  // it. aliases: names, which stand alone. Both separated by blanks; C's types have the sizes of 64-bit
  // Linux.
  std::string_view name, codes, aliases;
  int64_t bytes;
};
constexpr Dtype kDtypes[] = {
    {"bool", "b1 ?", "bool bool_", 1},
    {"int8", "i1 b", "int8 byte", 1},
    {"int16", "i2 h", "int16 short", 2},
    {"int32", "i4 i", "int32 intc", 4},
    {"int64", "i8 l q n p", "int64 int int_ long longlong intp", 8},
    {"uint8", "u1 B", "uint8 ubyte", 1},
    {"uint16", "u2 H", "uint16 ushort", 2},
    {"uint32", "u4 I", "uint32 uintc", 4},
    {"uint64", "u8 L Q N P", "uint64 uint ulong ulonglong uintp", 8},
    {"float32", "f4 f", "float32 single", 4},
    {"float64", "f8 d", "float64 double float", 8},
};

bool among(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const Dtype* find_dtype(std::string_view name) {
  for (const Dtype& d : kDtypes)
    if (d.name == name) return &d;
  return nullptr;
}

std::string dtype_names() {
  std::string out;
  for (const Dtype& d : kDtypes) out += fmt::format("{}{}", out.empty() ? "" : ", ", d.name);
  return out;
}

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxDimensions = 64;  // NPY_MAXDIMS of numpy 2
constexpr size_t kHeaderAlignment = 64;

struct Header {
  const Dtype* dtype = nullptr;
  bool big_endian = false;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// A reader over the text of the dict.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    if (!accept('{')) return malformed("no '{'");
    while (!accept('}')) {
      const std::string_view key = PERAXIS_TRY(string());
      if (!accept(':')) return malformed("no ':' after a key");
      PERAXIS_TRY(value(key, header));
      if (accept(',')) continue;
      if (!accept('}')) return malformed("no ',' or '}' after a value");
      break;
    }
    skip_blanks();
    if (position_ != text_.size()) return malformed("text after the '}'");
    if (header.dtype == nullptr) return malformed("no 'descr'");
    if (!header.fortran_order) return malformed("no 'fortran_order'");
    if (!header.shape) return malformed("no 'shape'");
    return header;
  }

 private:
  tl::unexpected<Error> malformed(std::string_view what) const {
    return fail(ErrorCode::InvalidModel, ".npy header: {} (at byte {})", what, position_);
  }
  void skip_blanks() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool accept(char c) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  bool accept(std::string_view word) {
    skip_blanks();
    if (text_.substr(position_, word.size()) != word) return false;
    position_ += word.size();
    return true;
  }
  Result<std::string_view> string() {
    skip_blanks();
    if (position_ == text_.size() || (text_[position_] != '\'' && text_[position_] != '"'))
      return malformed("a string is expected");
    const size_t end = text_.find(text_[position_], position_ + 1);
    if (end == std::string_view::npos) return malformed("a string without end");
    const std::string_view out = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return out;
  }
  Result<int64_t> integer() {
    skip_blanks();
    const size_t start = position_;
    int64_t out = 0;
    for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_)
      if (__builtin_mul_overflow(out, int64_t{10}, &out) ||
          __builtin_add_overflow(out, int64_t{text_[position_] - '0'}, &out))
        return malformed("an extent beyond 64 bits");
    if (position_ == start) return malformed("a whole number is expected");
    if (position_ < text_.size() && text_[position_] == 'L') ++position_;  // written by Python 2
    return out;
  }
  Status value(std::string_view key, Header& header) {
    if (key == "descr") {
      if (header.dtype != nullptr) return malformed("'descr' twice");
      skip_blanks();
      if (position_ < text_.size() && text_[position_] == '[')
        return fail(ErrorCode::Unsupported, ".npy header: structured dtypes are not supported");
      PERAXIS_TRY(descr(header));
    } else if (key == "fortran_order") {
      if (header.fortran_order) return malformed("'fortran_order' twice");
      if (accept("True"))
        header.fortran_order = true;
      else if (accept("False"))
        header.fortran_order = false;
      else
        return malformed("'fortran_order' is neither True nor False");
    } else if (key == "shape") {
      if (header.shape) return malformed("'shape' twice");
      header.shape = PERAXIS_TRY(tuple());
    } else {
      return malformed("an unknown key");
    }
    return {};
  }
  // A sign for the order of bytes, which may be left out, and a code; or a name. '=' and no sign are the
  // order of the reading machine, which numpy itself never writes down; '|' says that there is no order.
  Status descr(Header& header) {
    const std::string_view text = PERAXIS_TRY(string());
    const bool ordered = !text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos;
    for (const Dtype& d : kDtypes)
      if (among(text.substr(ordered ? 1 : 0), d.codes) || (!ordered && among(text, d.aliases)))
        header.dtype = &d;
    if (header.dtype == nullptr)
      return fail(ErrorCode::Unsupported, ".npy header: dtype '{}' is not supported; save it as one of {}",
                  printable(text), dtype_names());
    header.big_endian = text[0] == '>' && header.dtype->bytes > 1;
    return {};
  }
  Result<std::vector<int64_t>> tuple() {
    std::vector<int64_t> out;
    if (!accept('(')) return malformed("'shape' is no tuple");
    while (!accept(')')) {
      if (out.size() == kMaxDimensions) return malformed("more than 64 dimensions");
      out.push_back(PERAXIS_TRY(integer()));
      if (accept(',')) continue;
      if (!accept(')')) return malformed("no ',' or ')' after an extent");
      break;
    }
    return out;
  }
  static std::string printable(std::string_view text) {
    std::string out(text.substr(0, 32));
    for (char& c : out)
      if (c < ' ' || c > '~') c = '?';
    return out;
  }

  std::string_view text_;
  size_t position_ = 0;
};

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) out += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

// Elements of `bytes` bytes each, first index fastest, with the last index fastest.
std::vector<uint8_t> to_c_order(std::span<const uint8_t> data, std::span<const int64_t> shape, size_t bytes) {
  std::vector<size_t> steps(shape.size());  // bytes from one element of a dimension to the next
  size_t step = bytes;
  for (size_t d = 0; d < shape.size(); ++d) {
    steps[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  std::vector<uint8_t> out(data.size());
  std::vector<int64_t> index(shape.size(), 0);
  size_t from = 0;
  for (size_t to = 0; to < out.size(); to += bytes) {
    std::memcpy(out.data() + to, data.data() + from, bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      from += steps[d];
      if (++index[d] < shape[d]) break;
      from -= steps[d] * static_cast<size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return out;
}

void swap_bytes(std::vector<uint8_t>& data, size_t bytes) {
  for (size_t at = 0; at < data.size(); at += bytes)
    std::reverse(data.begin() + static_cast<ptrdiff_t>(at),
                 data.begin() + static_cast<ptrdiff_t>(at + bytes));
}

std::string format_header(const Dtype& dtype, std::span<const int64_t> shape) {
  std::string out = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                dtype.bytes == 1 ? '|' : '<', dtype.codes.substr(0, 2), shape_text(shape));
  const size_t prefix = kMagic.size() + 4;
  while ((prefix + out.size() + 1) % kHeaderAlignment != 0) out += ' ';
  return out + '\n';
}

}  // namespace

int64_t dtype_bytes(std::string_view dtype) {
  const Dtype* found = find_dtype(dtype);
  return found == nullptr ? 0 : found->bytes;
}

Result<int64_t> element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape)
    if (extent < 0) return fail(ErrorCode::InvalidArgument, "extent {} of a shape is negative", extent);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count))
      return fail(ErrorCode::InvalidArgument, "a shape has more than 2^63 elements");
  return count;
}

Status check_array(const Array& array) {
  const int64_t element = dtype_bytes(array.dtype);
  if (element == 0) return fail(ErrorCode::InvalidArgument, "dtype '{}' is not known", array.dtype);
  if (array.shape.size() > kMaxDimensions)
    return fail(ErrorCode::InvalidArgument, "the array has {} dimensions, the limit is {}",
                array.shape.size(), kMaxDimensions);
  const int64_t count = PERAXIS_TRY(element_count(array.shape));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, element, &bytes) || static_cast<uint64_t>(bytes) != array.data.size())
    return fail(ErrorCode::InvalidArgument, "the array has {} bytes of data, its shape asks for {} x {}",
                array.data.size(), count, element);
  return {};
}

Result<Array> parse_npy(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    return fail(ErrorCode::InvalidModel, "not a .npy file: it does not start with \\x93NUMPY");
  const size_t version_at = kMagic.size();
  if (bytes.size() < version_at + 4) return fail(ErrorCode::InvalidModel, ".npy file ends in its header");
  const unsigned major = bytes[version_at];
  if (major < 1 || major > 3)
    return fail(ErrorCode::Unsupported, ".npy version {}.{} is not supported (1 to 3 are)", major,
                unsigned{bytes[version_at + 1]});
  const size_t length_bytes = major == 1 ? 2 : 4;
  size_t begin = version_at + 2;
  if (bytes.size() < begin + length_bytes)
    return fail(ErrorCode::InvalidModel, ".npy file ends in its header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= size_t{bytes[begin + i]} << (8 * i);
  begin += length_bytes;
  if (length > bytes.size() - begin)
    return fail(ErrorCode::InvalidModel, ".npy header claims {} bytes, the file has {}", length,
                bytes.size() - begin);

  const Header header = PERAXIS_TRY(HeaderParser(text.substr(begin, length)).parse());
  const std::span<const uint8_t> data = bytes.subspan(begin + length);
  const int64_t count = PERAXIS_TRY(element_count(*header.shape));
  int64_t needed = 0;
  if (__builtin_mul_overflow(count, header.dtype->bytes, &needed) ||
      static_cast<uint64_t>(needed) != data.size())
    return fail(
        ErrorCode::InvalidModel,
        ".npy file has {} bytes of data, its shape {} of {} asks for {} x {}; it was cut off or is not "
        "what numpy.save wrote",
        data.size(), shape_text(*header.shape), header.dtype->name, count, header.dtype->bytes);
  const auto element = static_cast<size_t>(header.dtype->bytes);
  Array out{std::string(header.dtype->name), *header.shape,
            *header.fortran_order ? to_c_order(data, *header.shape, element)
                                  : std::vector<uint8_t>(data.begin(), data.end())};
  if (header.big_endian) swap_bytes(out.data, element);
  return out;
}

std::vector<uint8_t> format_npy(const Array& array) {
  PERAXIS_CHECK(check_array(array).has_value(), "format_npy takes arrays that pass check_array");
  const std::string header = format_header(*find_dtype(array.dtype), array.shape);
  std::string start(kMagic);
  start += {1, 0};                                   // version 1.0
  start += static_cast<char>(header.size() & 0xff);  // 64 extents stay far below 64 KiB
  start += static_cast<char>(header.size() >> 8);
  start += header;
  std::vector<uint8_t> out(start.size() + array.data.size());
  std::copy(start.begin(), start.end(), out.begin());
  std::copy(array.data.begin(), array.data.end(), out.begin() + static_cast<ptrdiff_t>(start.size()));
  return out;
}

Result<Array> read_npy(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = PERAXIS_TRY(read_file(path));
  return PERAXIS_TRY_NOTE(parse_npy(bytes), "while reading '{}'", path.string());
}

Status write_npy(const std::filesystem::path& path, const Array& array) {
  PERAXIS_TRY_NOTE(check_array(array), "while writing '{}'", path.string());
  return write_file(path, format_npy(array));
}

}  // namespace peraxis::base
