// SPDX-License-Identifier: Apache-2.0
#include "session/launch_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

// Tables and records are leaked on purpose; AddressSanitizer asks here whether to mind.
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0";
}

namespace keepgraph::session {
namespace {

CUgraphExec handle(std::uint64_t number) {
    return reinterpret_cast<CUgraphExec>(0x550000000000 + number * 64);  // as an allocator spaces them
}

TEST(LaunchTable, UnknownHandlesAreNotFound) {
    LaunchTable table;
    EXPECT_EQ(table.find(handle(1)), nullptr);
    EXPECT_EQ(table.take(handle(1)), nullptr);
    (void)table.insert(handle(1));
    EXPECT_EQ(table.find(handle(2)), nullptr);
    EXPECT_EQ(table.take(handle(2)), nullptr);
    EXPECT_EQ(table.find(nullptr), nullptr);
}

TEST(LaunchTable, TakenRecordIsFoundNoMoreUntilPutBack) {
    LaunchTable table;
    LaunchRecord* const record = table.insert(handle(1));
    LaunchRecord* const other = table.insert(handle(2));
    ASSERT_NE(record, nullptr);
    EXPECT_NE(record, other);
    EXPECT_EQ(table.find(handle(1)), record);
    EXPECT_EQ(table.take(handle(1)), record);
    EXPECT_EQ(table.find(handle(1)), nullptr);
    EXPECT_EQ(table.take(handle(1)), nullptr) << "only one of two destroys gets it";
    table.put_back(handle(1), record);
    EXPECT_EQ(table.find(handle(1)), record);
    EXPECT_EQ(table.find(handle(2)), other);
}

TEST(LaunchTable, ReusedHandleHasTheYoungerRecord) {
    LaunchTable table;
    LaunchRecord* const first = table.insert(handle(1));
    LaunchRecord* const second = table.insert(handle(1));
    EXPECT_NE(second, first);
    EXPECT_EQ(table.find(handle(1)), second);
    EXPECT_EQ(table.take(handle(1)), second);
    EXPECT_EQ(table.find(handle(1)), nullptr) << "the older one does not come back";
    LaunchRecord* const third = table.insert(handle(1));
    EXPECT_EQ(table.find(handle(1)), third);
}

TEST(LaunchTable, RecycledRecordStartsFromNothing) {
    LaunchTable table;
    LaunchRecord* const record = table.insert(handle(1));
    for (LaunchRecord::Shard& shard : record->launches)
        shard.count.store(3);
    record->attention.store(true);
    EXPECT_EQ(record->total(), 3u * LaunchRecord::shards);
    table.recycle(table.take(handle(1)));
    LaunchRecord* const again = table.insert(handle(2));
    EXPECT_EQ(again, record) << "a long run with many graphs stays flat";
    EXPECT_EQ(again->total(), 0u);
    EXPECT_FALSE(again->attention.load());
}

TEST(LaunchTable, ManyExecsAreAllFound) {
    LaunchTable table;
    std::vector<LaunchRecord*> records;
    for (std::uint64_t i = 0; i < 5000; ++i)
        records.push_back(table.insert(handle(i)));
    for (std::uint64_t i = 0; i < 5000; ++i)
        ASSERT_EQ(table.find(handle(i)), records[i]) << i;
    for (std::uint64_t i = 0; i < 5000; i += 2)
        ASSERT_EQ(table.take(handle(i)), records[i]) << i;
    for (std::uint64_t i = 0; i < 5000; ++i)
        ASSERT_EQ(table.find(handle(i)), i % 2 == 0 ? nullptr : records[i]) << i;
    EXPECT_EQ(table.find(handle(5000)), nullptr);
}

TEST(LaunchTable, GravesAreSweptAway) {
    // Ten thousand handles that never come back, a few alive at a time: without sweeping no empty slot would be left.
    LaunchTable table;
    LaunchRecord* const stays = table.insert(handle(0));
    for (std::uint64_t i = 1; i < 10000; ++i) {
        LaunchRecord* const record = table.insert(handle(i));
        ASSERT_EQ(table.find(handle(i)), record) << i;
        ASSERT_EQ(table.find(handle(0)), stays) << i;
        ASSERT_EQ(table.take(handle(i)), record) << i;
        ASSERT_EQ(table.find(handle(i)), nullptr) << i;
        table.recycle(record);
    }
}

TEST(LaunchTable, FailedDestroyAcrossASweepIsStillFound) {
    LaunchTable table;
    LaunchRecord* const record = table.insert(handle(0));
    ASSERT_EQ(table.take(handle(0)), record);
    for (std::uint64_t i = 1; i < 1000; ++i)
        (void)table.insert(handle(i));
    EXPECT_EQ(table.find(handle(0)), nullptr);
    table.put_back(handle(0), record);
    EXPECT_EQ(table.find(handle(0)), record);
}

TEST(LaunchTable, NoLaunchIsLostAmongThreads) {
    LaunchRecord record;
    constexpr std::ptrdiff_t number = 20;  // more than there are shards
    std::latch all(number);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < number; ++thread)
        threads.emplace_back([&] {
            all.arrive_and_wait();
            for (int i = 0; i < 200000; ++i)
                LaunchTable::count(record);
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(record.total(), 200000u * number);
    const auto used = std::count_if(std::begin(record.launches), std::end(record.launches),
                                    [](const auto& shard) { return shard.count.load() > 0; });
    EXPECT_EQ(used, LaunchRecord::shards) << "threads take turns";
}

// Readers walk the table while two threads, under a lock as the session's, publish and retire execs so fast that it is
// rebuilt all the time. The library promises: no wrong record, no lost launch, and "not found" of an exec that is there
// only to a reader who slept through two rebuilds, which the lock then corrects.
class LaunchTableRace : public testing::Test {
  protected:
    static constexpr std::uint64_t stable = 20;     // execs that stay
    static constexpr std::uint64_t alive = 40;      // execs of each writer at a time
    static constexpr std::uint64_t rounds = 40000;  // of each writer
    static constexpr std::uint64_t far = 1u << 20;  // from one writer's handles to the other's

    // A record tells its owner in the shard that no thread here counts in: 0 until it is known.
    static std::atomic<std::uint64_t>& owner(LaunchRecord& record) { return record.launches[0].count; }

    void write(std::uint64_t from) {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t number = from + i;
            {
                const std::lock_guard lock(mutex_);
                LaunchRecord* const record = table_.insert(handle(number));
                EXPECT_EQ(table_.take(handle(number)), record);
                owner(*record).store(number);
                table_.put_back(handle(number), record);
                newest_.store(number);
            }
            if (i >= alive) {
                const std::lock_guard lock(mutex_);
                // Not recycled: each record belongs to one handle for ever, so a reader can tell a wrong one.
                LaunchRecord* const old = table_.take(handle(number - alive));
                EXPECT_TRUE(old != nullptr && owner(*old).load() == number - alive);
            }
        }
    }

    void read() {
        std::uint64_t misses = 0, wrong = 0, looked = 0;
        while (!stop_.load()) {
            for (std::uint64_t i = 1; i <= stable; ++i) {
                ++looked;
                LaunchRecord* record = table_.find(handle(i));
                if (record == nullptr) {
                    ++misses;
                    const std::lock_guard lock(mutex_);
                    record = table_.find(handle(i));
                }
                wrong += record != records_[i];
                const std::uint64_t number = newest_.load();
                if (LaunchRecord* const record = table_.find(handle(number))) {
                    const std::uint64_t said = owner(*record).load();
                    wrong += said != 0 && said != number;
                }
            }
        }
        EXPECT_EQ(wrong, 0u);
        // None in a billion look-ups were seen; a table published before it is filled costs each reader a hundred.
        EXPECT_LT(misses, 30u) << "of " << looked << ": an exec that is there is found without the lock";
    }

    LaunchTable table_;
    std::mutex mutex_;
    LaunchRecord* records_[stable + 1] = {};
    std::atomic<std::uint64_t> newest_{1};
    std::atomic<bool> stop_{false};
};

TEST_F(LaunchTableRace, ReadersGetNoWrongRecord) {
    for (std::uint64_t i = 1; i <= stable; ++i) {
        records_[i] = table_.insert(handle(i));
        owner(*records_[i]).store(i);
    }
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&] { read(); });
    std::thread first([&] { write(far); }), second([&] { write(2 * far); });
    first.join();
    second.join();
    stop_.store(true);
    for (std::thread& reader : readers)
        reader.join();
    for (std::uint64_t i = 1; i <= stable; ++i)
        EXPECT_EQ(table_.find(handle(i)), records_[i]);
}

TEST_F(LaunchTableRace, NoLaunchIsLost) {
    constexpr std::uint64_t launches = 200000;  // of each thread
    for (std::uint64_t i = 1; i <= stable; ++i)
        records_[i] = table_.insert(handle(i));
    std::vector<std::thread> readers;
    for (int thread = 0; thread < 3; ++thread)
        readers.emplace_back([&] {
            for (std::uint64_t i = 0; i < launches; ++i) {
                const CUgraphExec exec = handle(i % stable + 1);
                LaunchRecord* record = table_.find(exec);
                if (record == nullptr) {
                    const std::lock_guard lock(mutex_);
                    record = table_.find(exec);
                }
                ASSERT_NE(record, nullptr);
                LaunchTable::count(*record);
            }
        });
    std::thread writer([&] {
        for (std::uint64_t i = 0; !stop_.load(); ++i) {
            const std::lock_guard lock(mutex_);
            (void)table_.insert(handle(far + i));
            if (i >= alive)
                table_.recycle(table_.take(handle(far + i - alive)));
        }
    });
    for (std::thread& reader : readers)
        reader.join();
    stop_.store(true);
    writer.join();
    std::uint64_t total = 0;
    for (std::uint64_t i = 1; i <= stable; ++i)
        total += records_[i]->total();
    EXPECT_EQ(total, 3 * launches);
}

}  // namespace
}  // namespace keepgraph::session
