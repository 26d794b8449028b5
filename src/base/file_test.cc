#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/thread_pool.h"
#include "base/writable.h"

namespace ptxlab::base {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(File, WritesAndReadsAnyBytes) {
  TemporaryFolder folder("ptxlab-test");
  auto path = folder.path() / "a";
  std::string content("a\0b\r\n\xff", 6);
  EXPECT_TRUE(write_file(path, content).empty());
  auto read = read_file(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, content);
  EXPECT_TRUE(write_file(path, "").empty());
  EXPECT_EQ(*read_file(path), "");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
}

TEST(File, ReadSaysWhatIsWrong) {
  TemporaryFolder folder("ptxlab-test");
  auto missing = read_file(folder.path() / "none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.findings()[0].code, "FILE0001");
  EXPECT_EQ(missing.findings()[0].message, "cannot read: No such file or directory");
  EXPECT_EQ(missing.findings()[0].place.file, (folder.path() / "none").string());
  EXPECT_EQ(read_file(folder.path()).findings().at(0).code, "FILE0001");
  ASSERT_TRUE(write_file(folder.path() / "b", "12345").empty());
  EXPECT_TRUE(read_file(folder.path() / "b", 5).ok());
  EXPECT_EQ(read_file(folder.path() / "b", 4).findings().at(0).code, "FILE0002");
  EXPECT_EQ(read_file("/dev/zero", 1000).findings().at(0).code, "FILE0002");  // no size known beforehand
}

TEST(File, WriteKeepsModeAndFollowsLinks) {
  TemporaryFolder folder("ptxlab-test");
  auto path = folder.path() / "a", link = folder.path() / "link";
  ASSERT_TRUE(write_file(path, "old").empty());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  fs::create_symlink("a", link);
  EXPECT_TRUE(write_file(link, "new").empty());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  EXPECT_TRUE(write_file("/dev/null", "gone").empty());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(File, WriteThatCannotBeSaysSo) {
  TemporaryFolder folder("ptxlab-test");
  EXPECT_EQ(write_file(folder.path() / "none" / "a", "x").at(0).code, "FILE0003");
  // What write_file will say is known beforehand, and nothing is written to find out.
  for (const auto& path : {folder.path() / "none" / "a", folder.path()})
    EXPECT_EQ(cannot_hold(path).at(0).message, write_file(path, "x").at(0).message) << path;
  for (const auto& path : {folder.path() / "new", fs::path("/dev/full"), fs::path("relative")})
    EXPECT_TRUE(cannot_hold(path).empty()) << path;
  EXPECT_FALSE(fs::exists(folder.path() / "new"));
  EXPECT_EQ(write_file(folder.path(), "x").at(0).code, "FILE0003");
  EXPECT_EQ(write_file("", "x").at(0).code, "FILE0003");
  fs::create_symlink("loop", folder.path() / "loop");
  EXPECT_EQ(write_file(folder.path() / "loop", "x").at(0).code, "FILE0003");
}

// A full device, without mounting one.
TEST(File, FullDeviceIsAFinding) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  auto findings = write_file("/dev/full", "x");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "FILE0003");
  EXPECT_EQ(findings[0].message, "cannot write: No space left on device");
}

// A disk that is full in the middle of the file: the process lives, the old content stays, nothing is left behind.
TEST(File, DiskFullInTheMiddleLeavesTheOldContent) {
  TemporaryFolder folder("ptxlab-test");
  auto path = folder.path() / "a";
  ASSERT_TRUE(write_file(path, "old").empty());
  pid_t child = fork();
  if (child == 0) {
    rlimit limit{5000, 5000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto findings = write_file(path, std::string(1'000'000, 'x'));
    bool right = findings.size() == 1 && findings[0].code == "FILE0003" && !findings[0].hint.empty();
    // And the signal is not pending afterwards: a small write still works.
    right = right && write_file(path.string() + "2", "small").empty();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(names_in(folder.path()).size(), 2u);
}

TEST(File, ConcurrentWritersLeaveOneWholeContent) {
  TemporaryFolder folder("ptxlab-test");
  auto path = folder.path() / "a";
  parallel_for(32, 4, [&](size_t i) { write_file(path, std::string(10'000, static_cast<char>('a' + i % 26))); });
  auto content = *read_file(path);
  EXPECT_EQ(content, std::string(10'000, content.at(0)));
  EXPECT_EQ(names_in(folder.path()).size(), 1u);
}

TEST(File, TemporaryFolderGoesWithItsContent) {
  fs::path path;
  {
    TemporaryFolder folder("ptxlab-test");
    path = folder.path();
    ASSERT_TRUE(fs::is_directory(path));
    fs::create_directories(path / "b" / "c");
    ASSERT_TRUE(write_file(path / "b" / "c" / "d", "x").empty());
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(File, HomesFollowTheStandard) {
  setenv("HOME", "/home/someone", 1);
  unsetenv("XDG_DATA_HOME");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(data_home(), "/home/someone/.local/share/ptxlab");
  EXPECT_EQ(cache_home(), "/home/someone/.cache/ptxlab");
  setenv("XDG_DATA_HOME", "/data", 1);
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(data_home(), "/data/ptxlab");
  EXPECT_EQ(cache_home(), "/home/someone/.cache/ptxlab");
}

}  // namespace
}  // namespace ptxlab::base
