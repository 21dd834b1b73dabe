// NumPy's two file formats: .npy (one array) and .npz (a zip archive of .npy files). They are how arrays
// enter and leave the program, so that every intermediate can be looked at with three lines of Python.
// Read is what numpy writes of dense numbers: C and Fortran order, either order of bytes. Written are C order
// and little-endian. Anything else is refused by name.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.hpp"

namespace peraxis::base {

// Dense, C order (last index fastest), little-endian.
struct Array {
  std::string dtype;           // "bool", "int8".."int64", "uint8".."uint64", "float32", "float64"
  std::vector<int64_t> shape;  // empty: a scalar
  std::vector<uint8_t> data;

  bool operator==(const Array&) const = default;
};

// Bytes of one element, 0 for a dtype we do not know.
int64_t dtype_bytes(std::string_view dtype);
// Product of the shape; fails on a negative extent or when it leaves int64.
Result<int64_t> element_count(std::span<const int64_t> shape);
// Known dtype, at most 64 dimensions, data of exactly the size the shape asks for.
Status check_array(const Array& array);

// Versions 1 to 3. Fortran order becomes C order, big-endian little-endian.
Result<Array> parse_npy(std::span<const uint8_t> bytes);
// The array must pass check_array; write_npy and write_npz check it, this aborts.
std::vector<uint8_t> format_npy(const Array& array);
Result<Array> read_npy(const std::filesystem::path& path);
Status write_npy(const std::filesystem::path& path, const Array& array);

// Keys are the member names without ".npy", as numpy.load gives them.
using ArrayMap = std::map<std::string, Array>;
Result<ArrayMap> parse_npz(std::span<const uint8_t> bytes);
Result<std::vector<uint8_t>> format_npz(const ArrayMap& arrays);
Result<ArrayMap> read_npz(const std::filesystem::path& path);
Status write_npz(const std::filesystem::path& path, const ArrayMap& arrays);

template <class T>
constexpr std::string_view dtype_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, int8_t>) return "int8";
  if constexpr (std::is_same_v<T, int16_t>) return "int16";
  if constexpr (std::is_same_v<T, int32_t>) return "int32";
  if constexpr (std::is_same_v<T, int64_t>) return "int64";
  if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, uint32_t>) return "uint32";
  if constexpr (std::is_same_v<T, uint64_t>) return "uint64";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
}

// An array of `values`; the shape must have as many elements.
template <class T>
Array make_array(std::vector<int64_t> shape, std::span<const T> values) {
  Array out{std::string(dtype_name<T>()), std::move(shape), std::vector<uint8_t>(values.size_bytes())};
  if (!values.empty()) std::memcpy(out.data.data(), values.data(), values.size_bytes());
  return out;
}

// The elements, when the dtype is exactly T.
template <class T>
Result<std::vector<T>> values_of(const Array& array) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes; read uint8 from `data`");
  if (array.dtype != dtype_name<T>())
    return fail(ErrorCode::InvalidArgument, "the array holds {}, {} is needed", array.dtype, dtype_name<T>());
  std::vector<T> out(array.data.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), array.data.data(), out.size() * sizeof(T));
  return out;
}

}  // namespace peraxis::base
