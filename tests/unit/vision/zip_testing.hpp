// Zip archives for tests, written from the format's description: stored members, nothing else.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace peraxis::vision {

// Little endian; `bytes` may be more than a number has.
inline void put_number(std::string& out, uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value);
}

// `start`: what the places count from; an archive that is written behind a model counts the model's bytes.
inline std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& members,
                              size_t start = 0) {
  std::string out, directory;
  for (const auto& [name, text] : members) {
    std::string common;
    put_number(common, 20, 2);     // version needed
    put_number(common, 0, 2 + 2);  // flags, method
    put_number(common, 0, 4);      // time
    put_number(common, crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())),
               4);
    put_number(common, text.size(), 4);
    put_number(common, text.size(), 4);
    put_number(common, name.size(), 2);
    put_number(common, 0, 2);  // extra
    const size_t place = start + out.size();
    out += std::string("PK\3\4") + common + name + text;
    directory += "PK\1\2";
    put_number(directory, 20, 2);
    directory += common;
    put_number(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put_number(directory, place, 4);
    directory += name;
  }
  const size_t directory_at = start + out.size();
  out += directory;
  out += "PK\5\6";
  put_number(out, 0, 4);
  put_number(out, members.size(), 2);
  put_number(out, members.size(), 2);
  put_number(out, directory.size(), 4);
  put_number(out, directory_at, 4);
  put_number(out, 0, 2);
  return out;
}

}  // namespace peraxis::vision
