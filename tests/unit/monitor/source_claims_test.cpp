// SPDX-License-Identifier: Apache-2.0
#include "joulescale/monitor/source_claims.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace joulescale {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

TEST(SourceClaims, OneHolderASource) {
  const TempDir directory;
  SourceClaims a("launch", "n1", directory.path());
  SourceClaims b("launch", "n1", directory.path());
  SourceClaims other("another", "n1", directory.path());
  EXPECT_TRUE(a.claim("powercap"));
  EXPECT_TRUE(a.claim("powercap")) << "held already";
  EXPECT_FALSE(b.claim("powercap"));
  EXPECT_TRUE(b.claim("GPU-1"));
  EXPECT_FALSE(a.claim("GPU-1"));
  EXPECT_TRUE(other.claim("powercap")) << "another launch";
  SourceClaims elsewhere("launch", "n2", directory.path());
  EXPECT_TRUE(elsewhere.claim("powercap")) << "another node";
}

TEST(SourceClaims, EndOfTheHolderFreesTheSource) {
  const TempDir directory;
  SourceClaims b("launch", "n1", directory.path());
  {
    SourceClaims a("launch", "n1", directory.path());
    ASSERT_TRUE(a.claim("powercap"));
    ASSERT_FALSE(b.claim("powercap"));
  }
  EXPECT_TRUE(b.claim("powercap"));
}

TEST(SourceClaims, TheHolderSaysThatItIsReady) {
  const TempDir directory;
  SourceClaims a("launch", "n1", directory.path());
  SourceClaims b("launch", "n1", directory.path());
  EXPECT_FALSE(b.is_ready("powercap"));
  ASSERT_TRUE(a.claim("powercap"));
  ASSERT_FALSE(b.claim("powercap"));
  b.set_ready("powercap");  // not its to say
  EXPECT_FALSE(b.is_ready("powercap"));
  a.set_ready("powercap");
  EXPECT_TRUE(b.is_ready("powercap"));
}

TEST(SourceClaims, InheritsWhatWasReadAndIsFree) {
  const TempDir directory;
  SourceClaims heir("launch", "n1", directory.path());
  EXPECT_FALSE(heir.inherit("GPU-1")) << "nobody's";
  EXPECT_TRUE(fs::is_empty(directory.path()));
  {
    SourceClaims owner("launch", "n1", directory.path());
    ASSERT_TRUE(owner.claim("GPU-1"));
    EXPECT_FALSE(heir.inherit("GPU-1"));
  }
  EXPECT_FALSE(heir.inherit("GPU-1")) << "claimed and never read";
  {
    SourceClaims owner("launch", "n1", directory.path());
    ASSERT_TRUE(owner.claim("GPU-1"));
    owner.set_ready("GPU-1");
    EXPECT_FALSE(heir.inherit("GPU-1")) << "its owner lives";
  }
  EXPECT_TRUE(heir.inherit("GPU-1"));
  EXPECT_TRUE(heir.inherit("GPU-1"));
  SourceClaims late("launch", "n1", directory.path());
  EXPECT_FALSE(late.claim("GPU-1"));
}

TEST(SourceClaims, ALockFileThatWasReplacedIsNoClaim) {
  const TempDir directory;
  SourceClaims a("launch", "n1", directory.path());
  SourceClaims b("launch", "n1", directory.path());
  ASSERT_TRUE(a.claim("powercap"));
  EXPECT_TRUE(a.verify());
  ASSERT_FALSE(b.claim("powercap"));
  SourceClaims::remove_files("launch", "n1", directory.path());
  EXPECT_TRUE(fs::is_empty(directory.path()));
  EXPECT_TRUE(b.claim("powercap"));
  EXPECT_FALSE(a.verify());
  EXPECT_TRUE(a.verify()) << "said once";
  EXPECT_FALSE(a.claim("powercap"));
}

TEST(SourceClaims, RemovesOnlyItsLaunch) {
  const TempDir directory;
  SourceClaims a("aa", "n1", directory.path());
  SourceClaims b("bb", "n1", directory.path());
  ASSERT_TRUE(a.claim("powercap") && a.claim("GPU/1") && b.claim("powercap"));
  SourceClaims::remove_files("aa", "n1", directory.path());
  EXPECT_TRUE(b.verify());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(SourceClaims, WhereNoFileCanBeMadeTheSourceIsRead) {
  const TempDir directory;
  SourceClaims claims("launch", "n1", directory / "missing");
  EXPECT_TRUE(claims.claim("powercap"));
}

}  // namespace
}  // namespace joulescale
