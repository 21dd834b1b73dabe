// Command streams as JSON documents.
#pragma once

#include "cli/output.hpp"
#include "trace/facts.hpp"
#include "trace/input.hpp"
#include "trace/summary.hpp"
#include "trace/text.hpp"

namespace peraxis::cli {

Json facts_json(const trace::Facts& facts);
Json totals_json(const trace::Totals& totals);
Json sources_json(const trace::Sources& sources);
// {"name", "words", "rest", "tasks": [...], "totals"}; with `registers` every word of every task.
Json stream_json(const trace::Stream& stream, bool registers);
// The fields of a word that a register has: {"WIDTH": 112, ...}, those that are zero too.
Json fields_json(const trace::RegisterEntry& entry, uint32_t value);

// A file of streams: reads it, and says what it looks like when it holds none.
// `as_words`: bare words, whatever it looks like.
Result<trace::Input> load_streams(const std::string& path, bool as_words = false);

}  // namespace peraxis::cli
