// The executor of the program that measured the real kernel: fills, copies, delays, hangs.
#include <algorithm>

#include "capture/server/executor.hpp"

namespace peraxis::capture {
namespace {

constexpr uint16_t kTestTarget = 0xFFFF, kEnableTarget = 0x0081;
constexpr uint16_t kDelay = 0, kHang = 4, kBytes = 8, kCopyAdd = 12, kSeed = 16, kInterrupts = 20;
constexpr uint16_t kEnableOffset = 0x08, kSourceAddress = 0x1070, kTargetAddress = 0x4020;
constexpr uint32_t kPpuUnits = 0x60, kDpuUnits = 0x18;
constexpr uint32_t kDpuBit = 0x100, kPpuBit = 0x400;

struct Order {
  uint32_t delay_us = 0, bytes = 0, added = 0, seed = 0x5A000000, interrupts = 0;
  uint32_t source = 0, target = 0, enable = 0;
  bool hangs = false, copies = false;
};

class TestWordSession final : public CoreSession {
 public:
  explicit TestWordSession(const Space& space) : space_(space) {}

  TaskOutcome run(const CommandRange& task, const Budget& budget) override {
    TaskOutcome out;
    // The fetch is rounded up to pairs of words.
    const auto words = find(task.address & ~0xFU, (task.words + 1) / 2 * 16);
    if (words.empty()) return unmapped(task.address, task.words * 8);
    const Order order = read(words);
    if (!budget.pass(std::chrono::microseconds(order.delay_us))) {
      out.late = true;
      return out;
    }
    if (order.hangs) {
      out.why = "the test word that hangs";
      return out;
    }
    const size_t bytes = order.bytes / 4 * 4;
    if (bytes != 0) {
      const auto to = find(order.target, bytes);
      const auto from = order.copies ? find(order.source, bytes) : to;
      if (from.empty()) return unmapped(order.source, bytes);
      if (to.empty()) return unmapped(order.target, bytes);
      for (size_t i = 0; i < bytes; i += 4) {
        const uint32_t value =
            order.copies ? load(from, i) + order.added : order.seed + static_cast<uint32_t>(i / 4);
        store(to, i, value);
      }
    }
    out.finished = true;
    out.interrupts = order.interrupts;
    if (out.interrupts == 0)
      out.interrupts =
          (order.enable & kPpuUnits) != 0 && (order.enable & kDpuUnits) == 0 ? kPpuBit | kDpuBit : kDpuBit;
    return out;
  }

 private:
  // The device's own accesses: memory that the program may use at the same time. Such a race is the
  // program's, as on the chip, so the thread sanitizer leaves these two out.
  [[gnu::no_sanitize_thread]] static uint32_t load(std::span<const uint8_t> bytes, size_t at) {
    uint32_t value = 0;
    for (size_t b = 0; b < 4; ++b) value |= uint32_t{bytes[at + b]} << (8 * b);
    return value;
  }
  [[gnu::no_sanitize_thread]] static void store(std::span<uint8_t> bytes, size_t at, uint32_t value) {
    for (size_t b = 0; b < 4; ++b) bytes[at + b] = static_cast<uint8_t>(value >> (8 * b));
  }
  static Order read(std::span<const uint8_t> words) {
    Order out;
    for (size_t at = 0; at < words.size(); at += 8) {
      const uint64_t word = load(words, at) | uint64_t{load(words, at + 4)} << 32;
      const auto target = static_cast<uint16_t>(word >> 48), offset = static_cast<uint16_t>(word);
      const auto value = static_cast<uint32_t>(word >> 16);
      if (target == kTestTarget) {
        if (offset == kDelay) out.delay_us = value;
        if (offset == kHang) out.hangs = true;
        if (offset == kBytes) out.bytes = value;
        if (offset == kCopyAdd) out.copies = true, out.added = value;
        if (offset == kSeed) out.seed = value;
        if (offset == kInterrupts) out.interrupts = value;
      } else if (offset == kTargetAddress) {
        out.target = value;
      } else if (offset == kSourceAddress) {
        out.source = value;
      } else if (target == kEnableTarget && offset == kEnableOffset) {
        out.enable = value;
      }
    }
    return out;
  }
  static TaskOutcome unmapped(uint32_t address, size_t bytes) {
    TaskOutcome out;
    out.why = fmt::format("{} bytes at {:#x} are not mapped", bytes, address);
    return out;
  }
  std::span<uint8_t> find(uint32_t address, size_t bytes) const {
    for (const Mapped& part : space_) {
      const size_t size = part.memory->bytes().size();
      if (address >= part.address && address - part.address < size &&
          bytes <= size - (address - part.address))
        return part.memory->bytes().subspan(address - part.address, bytes);
    }
    return {};
  }

  Space space_;
};

class TestWordExecutor final : public Executor {
 public:
  std::unique_ptr<CoreSession> begin_job(int32_t, const Space& space) override {
    return std::make_unique<TestWordSession>(space);
  }
  // Tasks of these words have no tails: a chain is its first task.
  TaskOutcome run_chains(std::span<const machine::Kick> kicks, const Space& space, const Budget& budget,
                         std::vector<int64_t>& finished) override {
    TaskOutcome out;
    finished.assign(kicks.size(), 0);
    for (size_t i = 0; i < kicks.size(); ++i) {
      TestWordSession session(space);
      out = session.run({kicks[i].address, kicks[i].words}, budget);
      if (!out.finished) return out;
      finished[i] = 1;
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<Executor> make_test_word_executor() {
  return std::make_unique<TestWordExecutor>();
}

}  // namespace peraxis::capture
