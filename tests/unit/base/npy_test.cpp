// The fixtures under tests/data/npy were written by numpy (make.py beside them states their values).
#include "base/npy.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/rng.hpp"

namespace peraxis::base {
namespace {

const std::filesystem::path kData = "tests/data/npy";

template <class T>
void expect_rule(const Array& array, const std::vector<int64_t>& shape) {
  EXPECT_EQ(array.dtype, dtype_name<T>());
  EXPECT_EQ(array.shape, shape);
  const auto values = values_of<T>(array);
  ASSERT_TRUE(values) << values.error().text();
  ASSERT_EQ(static_cast<int64_t>(values->size()), *element_count(shape));
  for (size_t i = 0; i < values->size(); ++i)
    EXPECT_EQ((*values)[i], static_cast<T>(7 * static_cast<int64_t>(i) - 20)) << i;
}

void expect_fixture(const ArrayMap& arrays) {
  EXPECT_EQ(arrays.size(), 15U);
  const std::vector<int64_t> shape = {2, 3, 5};
  expect_rule<int8_t>(arrays.at("int8"), shape);
  expect_rule<int16_t>(arrays.at("int16"), shape);
  expect_rule<int32_t>(arrays.at("int32"), shape);
  expect_rule<int64_t>(arrays.at("int64"), shape);
  expect_rule<uint8_t>(arrays.at("uint8"), shape);
  expect_rule<uint16_t>(arrays.at("uint16"), shape);
  expect_rule<uint32_t>(arrays.at("uint32"), shape);
  expect_rule<uint64_t>(arrays.at("uint64"), shape);
  expect_rule<float>(arrays.at("float32"), shape);
  expect_rule<double>(arrays.at("float64"), shape);
  expect_rule<float>(arrays.at("scalar"), {});
  expect_rule<int8_t>(arrays.at("vector"), {7});
  expect_rule<int32_t>(arrays.at("empty"), {3, 0, 2});
  expect_rule<int8_t>(arrays.at("folder/long"), {64, 64});
  const Array& flags = arrays.at("bool");
  EXPECT_EQ(flags.dtype, "bool");
  for (size_t i = 0; i < flags.data.size(); ++i) EXPECT_EQ(flags.data[i], i % 3 == 0 ? 1 : 0);
}

std::vector<uint8_t> npy_of(std::string header, const std::vector<uint8_t>& data) {
  header += '\n';
  std::string out = std::string("\x93NUMPY\x01") + '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  std::vector<uint8_t> bytes(out.begin(), out.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::vector<uint8_t> npy_with_header(const std::string& header, size_t data_bytes) {
  return npy_of(header, std::vector<uint8_t>(data_bytes));
}

void expect_refused(const std::vector<uint8_t>& bytes, const std::string& part) {
  const auto result = parse_npy(bytes);
  ASSERT_FALSE(result) << part;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().text();
}

TEST(Npy, reads_what_numpy_wrote) {
  for (const char* name : {"int16.npy", "version2.npy", "version3.npy", "fortran.npy", "big_endian.npy"}) {
    const auto array = read_npy(kData / name);
    ASSERT_TRUE(array) << array.error().text();
    expect_rule<int16_t>(*array, {2, 3, 5});
  }
}

TEST(Npy, writes_the_very_bytes_numpy_writes) {
  const auto file = read_file(kData / "int16.npy");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(format_npy(*parse_npy(*file)), *file);
}

// Element (i, j) of a 2 x 3 array is 10 i + j; bytes in the order that numpy's manual states for each form.
TEST(Npy, orders_of_elements_and_bytes) {
  const std::vector<int16_t> want = {0, 1, 2, 10, 11, 12};
  const auto array = [&](const char* descr, const char* fortran, const std::vector<uint8_t>& data) {
    return parse_npy(npy_of(
        fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': (2, 3), }}", descr, fortran), data));
  };
  const std::vector<Result<Array>> read = {
      array("<i2", "False", {0, 0, 1, 0, 2, 0, 10, 0, 11, 0, 12, 0}),
      array("<i2", "True", {0, 0, 10, 0, 1, 0, 11, 0, 2, 0, 12, 0}),
      array(">i2", "False", {0, 0, 0, 1, 0, 2, 0, 10, 0, 11, 0, 12}),
      array(">i2", "True", {0, 0, 0, 10, 0, 1, 0, 11, 0, 2, 0, 12}),
  };
  for (const Result<Array>& got : read) {
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_EQ(*got, make_array<int16_t>({2, 3}, want));
  }
}

TEST(Npy, big_endian_numbers_of_every_width) {
  const auto one = [](const char* descr, const std::vector<uint8_t>& data) {
    return *parse_npy(
        npy_of(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (), }}", descr), data));
  };
  EXPECT_EQ(*values_of<uint32_t>(one(">u4", {0x01, 0x02, 0x03, 0x04})), std::vector<uint32_t>{0x01020304});
  EXPECT_EQ(*values_of<int64_t>(one(">i8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe})),
            std::vector<int64_t>{-2});
  EXPECT_EQ(*values_of<float>(one(">f4", {0x3f, 0x80, 0, 0})), std::vector<float>{1});
  EXPECT_EQ(*values_of<double>(one(">f8", {0xc0, 0, 0, 0, 0, 0, 0, 0})), std::vector<double>{-2});
  EXPECT_EQ(*values_of<int8_t>(one(">i1", {0xff})), std::vector<int8_t>{-1});
  EXPECT_TRUE(one(">f4", {0, 0, 0, 0}).shape.empty());
}

// What numpy 2.4 on 64-bit Linux says of `dtype(descr).name`; numpy reads a file through it.
TEST(Npy, names_of_types_that_numpy_takes) {
  const auto read = [](std::string_view descr, size_t bytes) {
    return parse_npy(npy_of(fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (1,), }}", descr),
                            std::vector<uint8_t>(bytes)));
  };
  struct Case {
    std::string_view descr, name;
    size_t bytes;
  };
  for (const Case& c : std::vector<Case>{
           {"i1", "int8", 1},       {"b", "int8", 1},         {"|b", "int8", 1},        {"byte", "int8", 1},
           {"B", "uint8", 1},       {"u1", "uint8", 1},       {"?", "bool", 1},         {"b1", "bool", 1},
           {"<h", "int16", 2},      {"H", "uint16", 2},       {"short", "int16", 2},    {"=i", "int32", 4},
           {"i4", "int32", 4},      {"I", "uint32", 4},       {"l", "int64", 8},        {"<q", "int64", 8},
           {"int", "int64", 8},     {"intp", "int64", 8},     {"Q", "uint64", 8},       {"L", "uint64", 8},
           {"f", "float32", 4},     {"f4", "float32", 4},     {"single", "float32", 4}, {"d", "float64", 8},
           {"float", "float64", 8}, {"float32", "float32", 4}}) {
    const auto got = read(c.descr, c.bytes);
    ASSERT_TRUE(got) << c.descr << ": " << got.error().text();
    EXPECT_EQ(got->dtype, c.name) << c.descr;
  }
  // The sign still counts before a letter.
  EXPECT_EQ(*values_of<int16_t>(
                *parse_npy(npy_of("{'descr': '>h', 'fortran_order': False, 'shape': (), }", {0x01, 0x02}))),
            std::vector<int16_t>{0x0102});
  // numpy refuses these, or they are types of another kind.
  for (const char* descr : {"", "<", "<int8", "i3", "e", "f2", "i1 b", "1i", "Int8", "bb", " "})
    EXPECT_FALSE(read(descr, 1)) << descr;
}

TEST(Npy, fortran_order_of_odd_shapes) {
  const auto read = [](const char* shape, const std::vector<uint8_t>& data) {
    return parse_npy(
        npy_of(fmt::format("{{'descr': '|u1', 'fortran_order': True, 'shape': {}, }}", shape), data));
  };
  EXPECT_EQ(read("()", {7})->data, std::vector<uint8_t>{7});
  EXPECT_EQ(read("(4,)", {1, 2, 3, 4})->data, (std::vector<uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ(read("(3, 0, 2)", {})->data, std::vector<uint8_t>{});
  // Element (i, j, k) of 2 x 1 x 3 is 10 i + k.
  EXPECT_EQ(read("(2, 1, 3)", {0, 10, 1, 11, 2, 12})->data, (std::vector<uint8_t>{0, 1, 2, 10, 11, 12}));
}

TEST(Npy, wrong_sizes_name_shape_and_type) {
  expect_refused(npy_of("{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }", {1, 2, 3}),
                 "3 bytes of data, its shape (2, 3) of float32 asks for 6 x 4");
  expect_refused(npy_of("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", {1, 2, 3}),
                 "3 bytes of data, its shape () of float64 asks for 1 x 8");
}

TEST(Npy, refuses_by_name) {
  expect_refused(npy_with_header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8), "'<c8'");
  expect_refused(npy_with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8), "'|O'");
  expect_refused(npy_with_header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", 4),
                 "structured");
  auto version = format_npy({"int8", {1}, {5}});
  version[6] = 4;
  expect_refused(version, "version 4.0");
}

TEST(Npy, takes_any_key_order_and_quotes) {
  for (const char* header : {"{'shape': (2, 3), 'descr': '<i2', 'fortran_order': False}",
                             "{\"fortran_order\": False, \"shape\": (2L, 3L,), \"descr\": \"=i2\", }"}) {
    const auto array = parse_npy(npy_with_header(header, 12));
    ASSERT_TRUE(array) << array.error().text();
    EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(array->dtype, "int16");
  }
}

TEST(Npy, refuses_hostile_headers) {
  const auto with_shape = [](const std::string& shape) {
    return npy_with_header("{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + ", }", 8);
  };
  ASSERT_TRUE(parse_npy(with_shape("(2,)")));
  expect_refused(with_shape("(3,)"), "8 bytes of data");
  expect_refused(with_shape("(1,)"), "8 bytes of data");
  expect_refused(with_shape("(-2,)"), "whole number");
  expect_refused(with_shape("(4611686018427387904, 4)"), "2^63");
  expect_refused(with_shape("(4611686018427387905,)"), "8 bytes of data");
  expect_refused(with_shape("(99999999999999999999,)"), "64 bits");
  expect_refused(with_shape("(0, 9223372036854775807, 9223372036854775807)"), "8 bytes of data");
  expect_refused(with_shape("2"), "tuple");
  expect_refused(with_shape("(2 3)"), "after an extent");
  expect_refused(with_shape("(2"), "whole number");
  expect_refused(npy_with_header("{'descr': '<i4', 'shape': (2,), }", 8), "fortran_order");
  expect_refused(npy_with_header("{'descr': '<i4', 'descr': '<i4', 'shape': (2,), }", 8), "twice");
  expect_refused(npy_with_header("{'descr': '<i4", 8), "without end");
  expect_refused(npy_with_header("{'other': 1}", 8), "unknown key");
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1,";
  expect_refused(with_shape(many + ")"), "64 dimensions");
}

TEST(Npy, every_truncation_is_an_error) {
  const auto whole = format_npy({"int16", {3}, {1, 2, 3, 4, 5, 6}});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_npy(std::span(whole).first(size))) << size;
}

TEST(Npy, check_array_wants_matching_sizes) {
  EXPECT_TRUE(check_array({"int16", {2, 1}, {1, 2, 3, 4}}));
  EXPECT_FALSE(check_array({"int16", {2, 2}, {1, 2, 3, 4}}));
  EXPECT_FALSE(check_array({"int17", {1}, {1, 2}}));
  EXPECT_FALSE(check_array({"int8", {-1}, {}}));
}

TEST(Npz, reads_what_numpy_wrote) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const auto arrays = read_npz(kData / name);
    ASSERT_TRUE(arrays) << arrays.error().text();
    expect_fixture(*arrays);
  }
}

TEST(Npz, round_trip) {
  Rng rng(1);
  for (int round = 0; round < 50; ++round) {
    ArrayMap arrays;
    for (int64_t n = rng.uniform(0, 4); n > 0; --n) {
      std::vector<uint8_t> values(static_cast<size_t>(rng.uniform(0, 3000)));
      for (uint8_t& v : values) v = static_cast<uint8_t>(rng.uniform(0, round % 2 == 0 ? 255 : 3));
      arrays["a\xc3\xa4" + std::to_string(n)] =
          make_array<uint8_t>({static_cast<int64_t>(values.size())}, values);
    }
    const auto bytes = format_npz(arrays);
    ASSERT_TRUE(bytes) << bytes.error().text();
    const auto back = parse_npz(*bytes);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(*back, arrays);
  }
}

TEST(Npz, numpy_loads_what_we_write) {
  const char* variable = std::getenv("PERAXIS_PYTHON");
  const std::string python = variable != nullptr ? variable : "python3";
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << python << " has no numpy (set PERAXIS_PYTHON)";
  const auto fixture = read_npz(kData / "stored.npz");
  ASSERT_TRUE(fixture);
  std::string folder = (std::filesystem::temp_directory_path() / "peraxis_npz_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/ours.npz";
  ASSERT_TRUE(write_npz(path, *fixture));
  const std::string script =
      "import numpy, sys, zipfile\n"
      "assert zipfile.ZipFile(sys.argv[1]).testzip() is None\n"
      "ours, theirs = numpy.load(sys.argv[1]), numpy.load(sys.argv[2])\n"
      "assert sorted(ours.files) == sorted(theirs.files)\n"
      "for key in theirs.files:\n"
      "  a, b = ours[key], theirs[key]\n"
      "  assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all(), key\n";
  ASSERT_TRUE(write_file(folder + "/check.py", script));
  EXPECT_EQ(
      std::system(
          fmt::format("{} {}/check.py {} {}", python, folder, path, (kData / "stored.npz").string()).c_str()),
      0);
  std::filesystem::remove_all(folder);
}

class HostileNpz : public ::testing::Test {
 protected:
  void SetUp() override {
    bytes_ = *format_npz({{"x", make_array<int8_t>({3}, std::vector<int8_t>{1, 2, 3})},
                          {"y", make_array<int8_t>({3}, std::vector<int8_t>{4, 5, 6})}});
    end_ = bytes_.size() - 22;
    directory_ = get32(end_ + 16);
    ASSERT_TRUE(parse_npz(bytes_));
  }
  uint32_t get32(size_t at) const {
    uint32_t out = 0;
    for (size_t i = 0; i < 4; ++i) out |= uint32_t{bytes_[at + i]} << (8 * i);
    return out;
  }
  void set32(size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) bytes_[at + i] = static_cast<uint8_t>(value >> (8 * i));
  }
  void expect_refused(const std::string& part) const {
    const auto result = parse_npz(bytes_);
    ASSERT_FALSE(result) << part;
    EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().text();
  }

  std::vector<uint8_t> bytes_;
  size_t end_ = 0, directory_ = 0;
};

TEST_F(HostileNpz, sizes_no_deflate_stream_can_have) {
  set32(directory_ + 24, 0xfffffffe);
  expect_refused("more than deflate can pack");
}
TEST_F(HostileNpz, a_size_that_is_wrong) {
  set32(directory_ + 24, get32(directory_ + 24) + 1);
  expect_refused("does not unpack");
}
TEST_F(HostileNpz, a_wrong_crc) {
  set32(directory_ + 16, get32(directory_ + 16) ^ 1);
  expect_refused("CRC");
}
TEST_F(HostileNpz, zip64) {
  set32(directory_ + 20, 0xffffffff);
  expect_refused("zip64");
}
TEST_F(HostileNpz, an_encrypted_member) {
  bytes_[directory_ + 8] |= 1;
  expect_refused("encrypted");
}
TEST_F(HostileNpz, another_method) {
  bytes_[directory_ + 10] = 12;
  expect_refused("method 12");
}
TEST_F(HostileNpz, members_that_overlap) {
  const size_t second = directory_ + 46 + 5;
  bytes_[second + 46] = 'x';
  set32(second + 42, get32(directory_ + 42));
  set32(second + 16, get32(directory_ + 16));
  set32(second + 20, get32(directory_ + 20));
  expect_refused("overlap");
}
TEST_F(HostileNpz, two_members_of_one_name) {
  const size_t second = directory_ + 46 + 5;
  bytes_[second + 46] = 'x';
  bytes_[get32(second + 42) + 30] = 'x';
  expect_refused("two members are named 'x.npy'");
}
TEST_F(HostileNpz, a_member_outside_the_file) {
  set32(directory_ + 42, 0x7fffffff);
  expect_refused("no local header");
}
TEST_F(HostileNpz, a_directory_outside_the_file) {
  set32(end_ + 16, static_cast<uint32_t>(end_) + 1);
  expect_refused("directory leaves the file");
}
TEST_F(HostileNpz, more_members_than_there_are) {
  bytes_[end_ + 8] = bytes_[end_ + 10] = 3;
  expect_refused("entry is missing");
}
TEST_F(HostileNpz, every_truncation_is_an_error) {
  for (size_t size = 0; size < bytes_.size(); ++size)
    EXPECT_FALSE(parse_npz(std::span(bytes_).first(size))) << size;
}
// A flip may hit a date or an attribute; what comes out must then be the same arrays.
TEST_F(HostileNpz, every_bit_flip_is_noticed_or_harmless) {
  const ArrayMap expected = *parse_npz(bytes_);
  for (size_t bit = 0; bit < 8 * bytes_.size(); ++bit) {
    bytes_[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    const auto result = parse_npz(bytes_);
    if (result) {
      EXPECT_EQ(*result, expected) << bit;
    }
    bytes_[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace peraxis::base
