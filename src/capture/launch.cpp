// See launch.hpp.
#include "capture/launch.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/file.hpp"
#include "capture/log/reader.hpp"
#include "capture/server/rknpu_kernel.hpp"
#include "capture/server/rocket_kernel.hpp"
#include "capture/server/socket_server.hpp"
#include "trace/replay.hpp"

extern char** environ;

namespace peraxis::capture {
namespace {

namespace fs = std::filesystem;

Result<std::string> find_library(const std::string& given) {
  if (!given.empty()) {
    if (access(given.c_str(), R_OK) == 0) return fs::absolute(given).string();
    return fail(ErrorCode::Io, "{}: {}", given, std::strerror(errno));
  }
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  constexpr const char* kName = "libperaxis_capture.so";
  // In a build folder, and as `cmake --install` lays it out.
  for (const fs::path& path : {here / kName, here.parent_path() / "lib/peraxis" / kName})
    if (access(path.c_str(), R_OK) == 0) return path.string();
  return fail(ErrorCode::Io, "{} is neither in {} nor in {}; name it with --library", kName, here.string(),
              (here.parent_path() / "lib/peraxis").string());
}

// A folder of our own in the system's place for such, gone with its owner.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create() {
    std::string path = (fs::temp_directory_path() / "peraxis-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) return fail(ErrorCode::Io, "{}: {}", path, std::strerror(errno));
    // Programs of other users (setuid in a test) reach the socket too.
    fs::permissions(path, fs::perms(0755));
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

std::vector<std::string> environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (std::ranges::none_of(changes,
                             [&](const auto& change) { return text.starts_with(change.first + "="); }))
      out.push_back(text);
  }
  for (const auto& [name, value] : changes)
    if (!value.empty()) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

pid_t child_process = 0;
void pass_on(int signal) {
  if (child_process > 0) kill(child_process, signal);
}

// While the program runs, what is typed at the terminal is its business, and a request to end is passed on.
class Signals {
 public:
  Signals() {
    struct sigaction ignore{}, pass{};
    ignore.sa_handler = SIG_IGN;
    pass.sa_handler = pass_on;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
    sigaction(SIGTERM, &pass, &terminate_);
  }
  ~Signals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  struct sigaction interrupt_{}, quit_{}, terminate_{};
};

Result<int> run_command(std::vector<std::string> command, std::vector<std::string> variables) {
  const Signals signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults, none;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const std::vector<char*> arguments = pointers(command), values = pointers(variables);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), values.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(ErrorCode::Io, "{}: {}", command[0], std::strerror(error));
  child_process = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  child_process = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Status make_fake_tree(const std::string& folder, const std::string& driver) {
  struct Node {
    const char* path;
    int major, minor;
    const char* subsystem;
  };
  const std::vector<Node> nodes =
      driver == "rocket"
          ? std::vector<Node>{{"dev/accel/accel0", 261, 0, "accel"}}
          : std::vector<Node>{{"dev/dri/card1", 226, 1, "drm"}, {"dev/dri/renderD129", 226, 129, "drm"}};
  std::error_code error;
  const fs::path top = folder;
  const fs::path device = "sys/devices/platform/fdab0000.npu";
  fs::create_directories(top / device, error);
  // The driver's own folders are there even when they are empty, so that nothing of this computer shows.
  for (const char* path : {"dev/accel", "dev/dri", "sys/class/accel", "sys/class/drm"})
    fs::create_directories(top / path, error);
  const std::string compatible = driver == "rocket" ? "rockchip,rk3588-rknn-core" : "rockchip,rk3588-rknpu";
  const std::string uevent = fmt::format(
      "DRIVER={}\nOF_NAME=npu\nOF_FULLNAME=/"
      "npu@fdab0000\nOF_COMPATIBLE_0={}\nOF_COMPATIBLE_N=1\nMODALIAS=of:NnpuT(null)C{}\n",
      driver == "rocket" ? "rocket" : "RKNPU", compatible, compatible);
  PERAXIS_TRY(base::write_file(top / device / "uevent", uevent));
  fs::create_directory_symlink("../../../bus/platform", top / device / "subsystem", error);
  for (const Node& node : nodes) {
    const std::string numbers = fmt::format("{}:{}", node.major, node.minor);
    const fs::path name = fs::path(node.path).filename();
    PERAXIS_TRY(base::write_file(top / node.path, fmt::format("{} {}\n", node.major, node.minor)));
    fs::permissions(top / node.path, fs::perms(0644), error);
    // As in the real tree, links are relative, and /sys/dev/char and /sys/class lead to one folder.
    const fs::path entry = device / node.subsystem / name;
    fs::create_directories(top / entry, error);
    PERAXIS_TRY(base::write_file(top / entry / "uevent",
                                 fmt::format("MAJOR={}\nMINOR={}\nDEVNAME={}\nDEVTYPE={}_minor\n", node.major,
                                             node.minor, node.path + 4, node.subsystem)));
    PERAXIS_TRY(base::write_file(top / entry / "dev", numbers + "\n"));
    fs::create_directory_symlink("../../../" + device.filename().string(), top / entry / "device", error);
    fs::create_directory_symlink(fs::path("../../../../../class") / node.subsystem, top / entry / "subsystem",
                                 error);
    fs::create_directories(top / "sys/dev/char", error);
    fs::create_directory_symlink("../.." / fs::relative(entry, "sys"), top / "sys/dev/char" / numbers, error);
    fs::create_directory_symlink("../.." / fs::relative(entry, "sys"),
                                 top / "sys/class" / node.subsystem / name, error);
  }
  if (error) return fail(ErrorCode::Io, "{}: {}", folder, error.message());
  return {};
}

Result<std::unique_ptr<FakeKernel>> make_fake_kernel(const LaunchOptions& options) {
  KernelOptions kernel;
  for (const std::string& fault : options.faults) PERAXIS_TRY(kernel.faults.add(fault));
  kernel.strict = options.strict;
  MachineProfile profile;
  profile.keep_cbuf = options.keep_cbuf;
  profile.ppu_raises_dpu = !options.pool_raises_only_ppu;
  profile.check_unwritten = options.strict;
  profile.switches.drop_dummy_output = profile.drop_dummy_output;
  for (const std::string& text : options.switches) {
    if (text.starts_with("read_unwritten=") || text.starts_with("cbuf_survives_jobs="))
      return fail(
          ErrorCode::InvalidArgument,
          "'{}': memory of a kernel reads as zero until it is written, and --keep-cbuf says what jobs leave",
          text);
    PERAXIS_TRY(trace::set_switch(profile.switches, text));
  }
  profile.drop_dummy_output = profile.switches.drop_dummy_output;
  kernel.executor = options.test_words ? make_test_word_executor() : make_machine_executor(profile);
  if (options.fake == "rocket") return std::unique_ptr<FakeKernel>(new RocketKernel(std::move(kernel)));
  if (options.fake == "rknpu") return std::unique_ptr<FakeKernel>(new RknpuKernel(std::move(kernel)));
  return fail(ErrorCode::InvalidArgument, "no fake kernel is called '{}'", options.fake);
}

Result<LaunchResult> launch(const LaunchOptions& options) {
  const std::string library = PERAXIS_TRY(find_library(options.library));
  std::vector<std::pair<std::string, std::string>> variables;
  const char* preloaded = std::getenv("LD_PRELOAD");
  variables.emplace_back("LD_PRELOAD",
                         preloaded == nullptr || *preloaded == 0 ? library : library + ":" + preloaded);
  std::string log;
  if (!options.output.empty()) {
    std::error_code error;
    const fs::path folder = fs::absolute(options.output) / "log";
    fs::create_directories(folder, error);
    if (error) return fail(ErrorCode::Io, "{}: {}", folder.string(), error.message());
    if (!PERAXIS_TRY(logs_in(folder)).empty())
      return fail(ErrorCode::InvalidArgument, "{} holds a recording already; choose another folder",
                  options.output);
    log = folder.string();
  }
  variables.emplace_back(kLogVariable, log);
  variables.emplace_back(kRegcmdVariable, options.commands_only ? "1" : "");
  std::optional<TemporaryFolder> folder;
  std::unique_ptr<FakeKernel> kernel;
  std::unique_ptr<SocketServer> server;
  std::string socket, root;
  if (!options.fake.empty()) {
    folder.emplace(PERAXIS_TRY(TemporaryFolder::create()));
    kernel = PERAXIS_TRY(make_fake_kernel(options));
    PERAXIS_TRY(make_fake_tree(folder->path(), options.fake));
    socket = folder->path() + "/kernel";
    root = folder->path();
    server = PERAXIS_TRY(SocketServer::start(*kernel, socket));
  }
  variables.emplace_back(kSocketVariable, socket);
  variables.emplace_back(kRootVariable, root);
  LaunchResult out;
  out.exit_code = PERAXIS_TRY(run_command(options.command, environment(variables)));
  if (kernel != nullptr) {
    // What the program left open is released at its end; the kernel notices a moment later.
    kernel->wait_closed(std::chrono::milliseconds(1000));
    out.calls = server->calls();
    server.reset();
    out.findings = kernel->findings().text();
    out.punished = kernel->findings().count(FindingKind::Punished);
  }
  return out;
}

}  // namespace peraxis::capture
