// SPDX-License-Identifier: Apache-2.0
// Events that come before the folder is made.
#include "session/recording.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "scratch.h"
#include "trace/describe.h"

namespace keepgraph::session {
namespace {

using unit_tests::content;
using unit_tests::Scratch;

TEST(SessionRecordingTest, EventThatWaitsIsOfTheThreadAndTheTimeThatMadeIt) {
    const Scratch scratch;
    config::Settings settings;
    settings.out = scratch / "out";
    const auto began = std::chrono::steady_clock::now();
    const auto since_then = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    static Recording recording;  // as in the session, which is never destroyed: its writer stays reachable
    recording.configure(settings, began);
    long capturing = 0;
    std::thread([&] {
        capturing = trace::thread_id();
        recording.event("capture", {{"capture", 1}});
    }).join();
    const double before_opening = since_then();
    recording.open();
    const double after_opening = since_then();
    recording.event("summary", {});

    std::istringstream file(content(scratch / "out/events.jsonl"));
    std::string first, second;
    ASSERT_TRUE(std::getline(file, first) && std::getline(file, second));
    const auto capture = nlohmann::json::parse(first);
    EXPECT_EQ(capture["type"], "capture");
    EXPECT_EQ(capture["capture"], 1);
    EXPECT_EQ(capture["thread"], capturing);
    EXPECT_GT(capture["t"], 0);
    EXPECT_LE(capture["t"], before_opening);
    const auto summary = nlohmann::json::parse(second);
    EXPECT_EQ(summary["thread"], trace::thread_id());
    EXPECT_GE(summary["t"], after_opening - 1e-6) << "a microsecond is the last place of the file";
}

}  // namespace
}  // namespace keepgraph::session
