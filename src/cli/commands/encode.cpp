// peraxis encode: the text of peraxis decode, or a hand-written one, as command words.
#include <cstdio>

#include "base/file.hpp"
#include "cli/cli.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "trace/text.hpp"

namespace peraxis::cli {
namespace {

struct EncodeOptions {
  std::string file = "-", output = "-", stream;
};

Result<std::string> read_stdin() {
  std::string out;
  char buffer[65536];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), stdin)) > 0;) {
    out.append(buffer, n);
    if (static_cast<int64_t>(out.size()) > base::kMaxFileBytes)
      return fail(ErrorCode::Io, "stdin: more than {} bytes", base::kMaxFileBytes);
  }
  if (std::ferror(stdin) != 0) return fail(ErrorCode::Io, "stdin: cannot read");
  return out;
}

Result<std::string> read_text(const std::string& file) {
  if (file == "-") return read_stdin();
  const std::vector<uint8_t> bytes = PERAXIS_TRY(base::read_file(file));
  return std::string(bytes.begin(), bytes.end());
}

CliStatus encode_command(const EncodeOptions& options) {
  const std::string name = options.file == "-" ? "stdin" : options.file;
  if (options.file != "-" && options.output != "-") PERAXIS_TRY(check_output(options.output, options.file));
  const std::string text = PERAXIS_TRY(read_text(options.file));
  Result<std::vector<trace::Stream>> streams = trace::parse_text(text);
  if (!streams) {
    Error error = std::move(streams).error();
    error.message = name + ", " + error.message;
    return tl::unexpected<CliError>(std::move(error));
  }
  std::vector<uint8_t> bytes;
  bool found = options.stream.empty();
  for (const trace::Stream& stream : *streams) {
    if (!options.stream.empty() && stream.name != options.stream) continue;
    found = true;
    const std::vector<uint8_t> words = trace::bytes_of_words(stream.words);
    bytes.insert(bytes.end(), words.begin(), words.end());
    bytes.insert(bytes.end(), stream.rest.begin(), stream.rest.end());
  }
  if (!found) {
    std::vector<std::string> names;
    for (const trace::Stream& stream : *streams) names.push_back(stream.name);
    return usage("--stream '{}': {} has {}", options.stream, name, listed(names));
  }
  if (options.output == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return {};
  }
  PERAXIS_TRY(base::write_file(options.output, std::span<const uint8_t>(bytes)));
  return {};
}

}  // namespace

void add_encode(const Arguments& arguments) {
  const auto options = std::make_shared<EncodeOptions>();
  arguments.option("FILE", options->file, "stream text (docs/trace.md); '-': stdin")
      .not_empty()
      .shows_default();
  arguments.option("-o,--output", options->output, "64-bit words, little-endian; '-': stdout")
      .not_empty()
      .type_name("FILE")
      .shows_default();
  arguments.option("--stream", options->stream, "only the stream of this name").type_name("NAME");
  arguments.runs([options] { return encode_command(*options); });
}

}  // namespace peraxis::cli
