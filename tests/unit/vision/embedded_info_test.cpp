// Labels and metadata in the archive behind a model, as exporters append it, and archives made to harm.
#include "vision/embedded_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "zip_testing.hpp"

namespace peraxis::vision {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Members = std::vector<std::pair<std::string, std::string>>;

// Any bytes do for the model: the archive is found from its end.
const std::string kModel = std::string("\x1c\0\0\0TFL3", 8) + std::string(100, 'm');

EmbeddedInfo read(const std::string& file) {
  return read_embedded_info(std::span(reinterpret_cast<const uint8_t*>(file.data()), file.size()));
}
EmbeddedInfo with(const Members& members) {
  return read(kModel + stored_zip(members, kModel.size()));
}

TEST(EmbeddedInfo, NothingInAModelAlone) {
  const EmbeddedInfo info = read(kModel);
  EXPECT_FALSE(info.labels);
  EXPECT_FALSE(info.candidates);
  EXPECT_THAT(info.warnings, IsEmpty());
  EXPECT_THAT(read("").warnings, IsEmpty());
  EXPECT_THAT(with({}).warnings, IsEmpty());
}

// Appended by a zip program that knows of the model, and an archive put behind it as it is.
TEST(EmbeddedInfo, LabelsOfBothWaysToAppend) {
  for (const size_t start : {kModel.size(), size_t{0}}) {
    const EmbeddedInfo info = read(kModel + stored_zip({{"labels.txt", "ant\r\nbee\r\n"}}, start));
    ASSERT_TRUE(info.labels) << start;
    EXPECT_THAT(info.labels->names, ElementsAre("ant", "bee"));
    EXPECT_EQ(info.labels_member, "labels.txt");
    EXPECT_THAT(info.warnings, IsEmpty());
  }
}

TEST(EmbeddedInfo, WhichMemberHoldsTheLabels) {
  EXPECT_EQ(with({{"readme.txt", "hello"}, {"imagenet_labels.txt", "ant"}}).labels_member,
            "imagenet_labels.txt");
  EXPECT_EQ(with({{"other_labels.txt", "x"}, {"LabelMap.TXT", "ant"}}).labels_member, "LabelMap.TXT");
  EXPECT_EQ(with({{"labels.txt", "x"}, {"metadata.json", R"({"names": ["ant"]})"}}).labels_member,
            "metadata.json");
  EXPECT_EQ(with({{"labels.txt", "x"}, {"metadata.json", R"({"stride": 32})"}}).labels_member, "labels.txt");
  EXPECT_FALSE(with({{"readme.txt", "hello"}, {"labels.bin", "x"}}).labels);
  const EmbeddedInfo two = with({{"labels.txt", "ant"}, {"de/labels.txt", "Ameise"}});
  EXPECT_FALSE(two.labels);
  EXPECT_THAT(two.warnings,
              ElementsAre(AllOf(HasSubstr("'labels.txt', 'de/labels.txt'"), HasSubstr("--labels"))));
}

TEST(EmbeddedInfo, NumberedLabelFilesFollowTheSameRule) {
  EXPECT_THAT(with({{"labels.txt", "0 ant\n2 cat\n"}}).labels->names, ElementsAre("ant", "1", "cat"));
  const EmbeddedInfo twice = with({{"labels.txt", "0 ant\n0 cat\n"}});
  EXPECT_FALSE(twice.labels);
  EXPECT_THAT(twice.warnings, ElementsAre(AllOf(HasSubstr("labels.txt"), HasSubstr("line 2"))));
}

// The text of Ultralytics' exporter, shortened.
constexpr const char* kUltralytics =
    R"({"description": "Ultralytics YOLO11n model", "author": "Ultralytics", "stride": 32, "task": "detect",
        "imgsz": [160, 160], "names": {"0": "circle", "1": "square", "10": "star"}, "args": {"int8": true}})";

TEST(EmbeddedInfo, NamesAndTaskOfUltralytics) {
  const EmbeddedInfo info = with({{"metadata.json", kUltralytics}});
  ASSERT_TRUE(info.labels);
  ASSERT_EQ(info.labels->names.size(), 11u);
  EXPECT_EQ(info.labels->names[1], "square");
  EXPECT_EQ(info.labels->names[2], "2");
  EXPECT_EQ(info.labels->names[10], "star");
  EXPECT_FALSE(info.labels->background);
  ASSERT_TRUE(info.candidates);
  EXPECT_THAT(*info.candidates, ElementsAre("yolov8", "yolov8-decoded"));
  EXPECT_EQ(info.candidates_source, "metadata.json inside the model says task 'detect'");
}

TEST(EmbeddedInfo, TasksLeaveTheirHeads) {
  const auto candidates = [](const char* author, const char* task) {
    return with({{"metadata.json", fmt::format(R"({{"author": "{}", "task": "{}"}})", author, task)}})
        .candidates;
  };
  EXPECT_THAT(*candidates("Ultralytics", "classify"), ElementsAre("classification"));
  EXPECT_THAT(*candidates("Ultralytics", "pose"), ElementsAre("pose"));
  EXPECT_THAT(*candidates("Ultralytics", "segment"), ElementsAre("segmentation"));
  EXPECT_THAT(*candidates("Ultralytics", "obb"), IsEmpty());
  EXPECT_FALSE(candidates("Ultralytics", "something new"));
  EXPECT_FALSE(candidates("somebody", "detect"));
}

TEST(ExporterMetadata, ListsOfNamesAndForeignKeys) {
  EXPECT_THAT(parse_exporter_metadata(R"({"names": ["ant", "bee"], "more": [[1]]})")->names->names,
              ElementsAre("ant", "bee"));
  EXPECT_FALSE(parse_exporter_metadata("{}")->names);
  EXPECT_FALSE(parse_exporter_metadata(R"({"names": {}})")->names);
}

TEST(ExporterMetadata, MistakesAreNamed) {
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {"[]", "not a JSON object"},
           {"{", "not JSON"},
           {R"({"names": "a"})", "'names'"},
           {R"({"names": {"x": "a"}})", "\"x\" is not an index from 0 to 99999"},
           {R"({"names": {"": "a"}})", "is not an index"},
           {R"({"names": {"-1": "a"}})", "\"-1\" is not an index"},
           {R"({"names": {"100000": "a"}})", "\"100000\" is not an index"},
           {R"({"names": {"99999999999999999999": "a"}})", "is not an index"},
           {R"({"names": {"0": "a", "00": "b"}})", "index 0 is there twice"},
           {R"({"names": {"0": 5}})", "index 0 is 5"},
           {R"({"names": ["a", 5]})", "item 1 is 5"},
           {R"({"task": 3})", "'task'"}}) {
    const auto metadata = parse_exporter_metadata(text);
    ASSERT_FALSE(metadata) << text;
    EXPECT_THAT(metadata.error().message, AllOf(HasSubstr("metadata.json"), HasSubstr(part)));
  }
  EXPECT_FALSE(parse_exporter_metadata(std::string(100'000, '[')));
}

// What is broken behind a model is a warning; the model runs.
TEST(EmbeddedInfo, BrokenArchivesAreWarnings) {
  const std::string archive = stored_zip({{"labels.txt", "ant\nbee\n"}, {"x.txt", "y"}}, kModel.size());
  const size_t labels_at = kModel.size(), directory_at = kModel.size() + archive.find("PK\1\2");
  const auto changed = [&](size_t at, uint8_t value) {
    std::string file = kModel + archive;
    file[at] = static_cast<char>(value);
    const EmbeddedInfo info = read(file);
    EXPECT_FALSE(info.labels) << at;
    return info.warnings.size() == 1 ? info.warnings[0] : std::string("no warning");
  };
  EXPECT_THAT(changed(labels_at + 30 + 10, 'X'), AllOf(HasSubstr("labels.txt"), HasSubstr("CRC")));
  EXPECT_THAT(changed(directory_at + 24, 200), HasSubstr("two sizes"));
  EXPECT_THAT(changed(directory_at + 27, 0x7f), HasSubstr("more than deflate can pack"));
  EXPECT_THAT(changed(directory_at + 43, 0x7f), HasSubstr("no local header"));
  EXPECT_THAT(changed(directory_at + 8, 1), HasSubstr("encrypted"));
  EXPECT_THAT(changed(directory_at + 10, 99), HasSubstr("method 99"));
}

// 17 MiB of zeros in 17 KiB: unpacked only up to the limit of a label file.
TEST(EmbeddedInfo, ABombIsNotUnpacked) {
  const std::string zeros(size_t{17} << 20, '\0');
  std::string packed(compressBound(zeros.size()) + 64, '\0');
  z_stream stream{};
  ASSERT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(zeros.data()));
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ASSERT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  std::string archive = stored_zip({{"labels.txt", packed}}, kModel.size());
  const size_t directory = archive.find("PK\1\2");
  archive[directory + 10] = 8;  // deflated
  std::string size;
  put_number(size, zeros.size(), 4);
  archive.replace(directory + 24, 4, size);
  const EmbeddedInfo info = read(kModel + archive);
  EXPECT_FALSE(info.labels);
  EXPECT_THAT(info.warnings, ElementsAre(AllOf(HasSubstr("17825792 bytes"), HasSubstr("limit is 16777216"))));
}

TEST(EmbeddedInfo, EveryTruncationIsHarmless) {
  const std::string file = kModel + stored_zip({{"labels.txt", "ant\nbee\n"}}, kModel.size());
  ASSERT_TRUE(read(file).labels);
  for (size_t size = 0; size < file.size(); ++size) EXPECT_FALSE(read(file.substr(0, size)).labels) << size;
}

}  // namespace
}  // namespace peraxis::vision
