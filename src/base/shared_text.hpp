// Text that many records hold: copies share one string. A reason that a thousand operators have is stored
// once, in memory as in a file.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace peraxis::base {

class SharedText {
 public:
  SharedText() = default;
  SharedText(std::string text)  // NOLINT(google-explicit-constructor): it stands for a string
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}  // NOLINT(google-explicit-constructor)

  const std::string& str() const {
    static const std::string none;
    return text_ == nullptr ? none : *text_;
  }
  operator const std::string&() const { return str(); }  // NOLINT(google-explicit-constructor)
  bool empty() const { return text_ == nullptr; }
  // The same string, not only an equal one; null for all empty ones.
  const std::string* identity() const { return text_.get(); }

  bool operator==(const SharedText& other) const { return text_ == other.text_ || str() == other.str(); }

 private:
  std::shared_ptr<const std::string> text_;
};

}  // namespace peraxis::base
