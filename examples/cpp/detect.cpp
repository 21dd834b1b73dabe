// Compiles a model, runs it on the machine model and prints what it sees.
//   detect MODEL.tflite PICTURE.ppm [ACCURACY [OUTPUT]]
// PICTURE is a binary PPM (P6). With OUTPUT the first output tensor is written there.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <peraxis/engine.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Pixels {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;
};

bool read_ppm(const char* path, Pixels& out) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  int largest = 0;
  if (!(file >> magic >> out.width >> out.height >> largest) || magic != "P6" || largest != 255) return false;
  file.get();
  out.rgb.assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

int fail(const peraxis::Failure& failure) {
  std::fprintf(stderr, "detect: %s\n", failure.text.c_str());
  return failure.kind == peraxis::FailureKind::InvalidArgument ? 2 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Pixels pixels;
  if (argc < 3 || !read_ppm(argv[2], pixels)) {
    std::fprintf(stderr, "usage: detect MODEL.tflite PICTURE.ppm [ACCURACY [OUTPUT]]\n");
    return 2;
  }
  const auto engine = peraxis::Engine::open();
  if (!engine) return fail(engine.failure());
  const auto model = engine->load(argv[1]);
  if (!model) return fail(model.failure());

  peraxis::CompileOptions options;
  if (argc > 3) options.accuracy = argv[3];
  const auto compiled = engine->compile(*model, options);
  if (!compiled) return fail(compiled.failure());
  auto session = engine->open_session(*compiled);
  if (!session) return fail(session.failure());

  const auto seen = session->read({pixels.width, pixels.height, pixels.rgb});
  if (!seen) return fail(seen.failure());
  for (const peraxis::Box& box : seen->boxes)
    std::printf("%s %.3f %.1f %.1f %.1f %.1f\n", box.label.c_str(), box.score, box.x1, box.y1, box.x2,
                box.y2);
  for (const peraxis::ClassScore& c : seen->classes) std::printf("%s %.4f\n", c.label.c_str(), c.score);
  std::fprintf(stderr, "peraxis %s, %lld tasks\n", std::string(peraxis::version()).c_str(),
               static_cast<long long>(session->counters().tasks));
  if (argc > 4) {
    std::ofstream file(argv[4], std::ios::binary);
    file.write(reinterpret_cast<const char*>(seen->outputs[0].data()),
               static_cast<std::streamsize>(seen->outputs[0].size()));
  }
  return 0;
}
