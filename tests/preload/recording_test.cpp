// SPDX-License-Identifier: Apache-2.0
// What a process leaves on disk with OUT: src/report/README.md, case E1, and F1 once more on the full record.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "harness/on_double.h"
#include "harness/recording.h"

namespace keepgraph::preload_tests {
namespace {

TEST(Recording, CountsReplaysOfAGraphThatIsNeverDestroyed) {
    TempFolder folder;
    const Outcome outcome = expect_transparent({victim("exits_driver"), "return"}, recorded(folder, "none"));
    EXPECT_TRUE(outcome.ended_with(7)) << outcome.describe();
    const Recording recording = Recording::only_one_in(folder.path());
    ASSERT_EQ(recording.of_type("living").size(), 1u) << outcome.describe();
    EXPECT_EQ(recording.of_type("living")[0].at("graph"), 1);
    EXPECT_EQ(recording.of_type("living")[0].at("replays"), 2);
    for (const Json& gone : recording.of_type("destroy"))
        EXPECT_EQ(gone.at("what"), "template") << "the graph was destroyed";
}

TEST(Recording, FindingIsWholeAndPointsToItsStacks) {
    TempFolder folder;
    expect_transparent({victim("recycled_shared")}, recorded(folder));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_EQ(recording.manifest.at("schema"), 1);
    ASSERT_EQ(recording.findings().size(), 1u);
    Json finding = recording.findings()[0];
    EXPECT_EQ(finding.at("kind"), "recycled");
    EXPECT_EQ(finding.at("grade"), "likely");
    EXPECT_EQ(finding.at("graph"), 1);
    EXPECT_EQ(finding.at("references").at(0).at("kernel"), "kg_scale");
    EXPECT_EQ(finding.at("references").at(0).at("slot"), "parameter 0 +0");
    EXPECT_EQ(finding.at("death").at("call"), "cuMemFree_v2");
    EXPECT_EQ(finding.at("death").at("runtime_call"), "cudaFree") << "the runtime door notes what is above";
    EXPECT_EQ(finding.at("launch_call"), "cuGraphLaunch");
    EXPECT_EQ(finding.at("launch_runtime_call"), "cudaGraphLaunch");
    EXPECT_EQ(recording.of_type("capture").at(0).at("begin_runtime_call"), "cudaStreamBeginCapture");
    EXPECT_NE(finding.at("younger").at("allocation").at("id"), finding.at("allocation").at("id"));
    EXPECT_EQ(finding.at("younger").at("allocation").at("address"), finding.at("allocation").at("address"));
    for (const char* stack : {"capture_stack", "instantiate_stack", "launch_stack"}) {
        Json event = recording.stack(finding.at(stack));
        ASSERT_TRUE(event.is_object()) << stack << " names a stack that was not written";
        EXPECT_FALSE(event.at("frames").empty()) << stack;
    }
    EXPECT_TRUE(recording.stack(finding.at("death").at("stack")).is_object());
    Json last = recording.events.back();
    EXPECT_EQ(last.at("type"), "summary");
    EXPECT_EQ(last.at("findings"), 1);
    EXPECT_EQ(last.at("replays"), 2);
    EXPECT_TRUE(recording.has_graph_file(1));
}

TEST(Recording, ManifestSaysWhatRan) {
    TempFolder folder;
    Conditions conditions;
    const std::map<std::string, std::string> set = {{"CHECK", "inputs"},     {"ON_FINDING", "refuse:certain"},
                                                    {"KEEP", "data,max=3M"}, {"OUT", folder / "recording-%p"},
                                                    {"WRITE", "graphs"},     {"STACKS", "all"}};
    for (const auto& [name, value] : set)
        conditions = conditions.with("KEEPGRAPH_" + name, value);
    const std::string program = victim("freed_input_shared");
    expect_transparent({program, "a word", ""}, conditions);
    const Recording recording = Recording::only_one_in(folder.path());
    const Json& manifest = recording.manifest;
    EXPECT_EQ(manifest.at("schema"), 1);
    EXPECT_EQ(recording.folder, folder / ("recording-" + manifest.at("pid").dump()));
    EXPECT_EQ(manifest.at("command"), (Json{program, "a word", ""}));
    char host[256] = "";
    ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
    EXPECT_EQ(manifest.at("host"), host);
    EXPECT_TRUE(std::regex_match(manifest.at("started").get<std::string>(),
                                 std::regex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z")))
        << manifest.at("started");
    const std::vector<std::string> version = lines_of({command_path(), "--version"});
    ASSERT_FALSE(version.empty());
    EXPECT_NE(version[0].find(manifest.at("keepgraph").get<std::string>()), std::string::npos) << version[0];
    EXPECT_EQ(manifest.at("keepgraph").get<std::string>().find_first_not_of("0123456789."), std::string::npos);

    EXPECT_GE(manifest.at("driver").at("version"), 12000);
    const std::string driver = manifest.at("driver").at("path");
    EXPECT_TRUE(std::filesystem::equivalent(driver, double_folder() + "/libcuda.so.1")) << driver;
    for (const auto& [name, value] : set)
        EXPECT_EQ(manifest.at("settings").value(name, ""), value) << name;
    EXPECT_TRUE(manifest.at("settings").contains("OPTIONS"));

    const auto number = [](const Json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); };
    std::vector<Json> modules = manifest.at("modules").get<std::vector<Json>>();
    for (const Json& later : recording.of_type("module"))
        modules.push_back(later);
    std::set<std::string> names;
    for (const Json& module : modules) {
        EXPECT_LT(number(module.at("base")), number(module.at("end"))) << module;
        const std::string path = module.at("path");
        names.insert(path.substr(path.rfind('/') + 1));
        if (file_exists(path)) {  // not the vdso
            EXPECT_EQ(module.at("build_id"), build_id_of(path)) << path;
        }
    }
    for (const char* name : {"freed_input_shared", "libkeepgraph_preload.so", "libcudart.so.13", "libc.so.6"})
        EXPECT_EQ(names.count(name), 1u) << name;
    EXPECT_FALSE(build_id_of(program).empty()) << "nothing was compared";
    // The program's own code lies in some frame, and every address that does must be in a module.
    size_t frames = 0;
    for (const Json& stack : recording.of_type("stack"))
        for (const Json& frame : stack.at("frames")) {
            const auto address = number(frame);
            ++frames;
            EXPECT_TRUE(std::any_of(modules.begin(), modules.end(), [&](const Json& module) {
                return address >= number(module.at("base")) && address < number(module.at("end"));
            })) << frame;
        }
    EXPECT_GT(frames, 10u);
}

TEST(Recording, EveryEventHasItsCommonKeysAndTimeGoesOn) {
    TempFolder folder;
    expect_transparent({victim("many_graphs")}, recorded(folder));
    Recording recording = Recording::only_one_in(folder.path());
    double before = 0;
    for (const Json& event : recording.events) {
        ASSERT_TRUE(event.at("t").is_number()) << event;
        ASSERT_TRUE(event.at("thread").is_number_integer()) << event;
        EXPECT_GE(event.at("t").get<double>(), before) << event;
        before = event.at("t");
    }
    EXPECT_EQ(recording.of_type("instantiate").size(), 16u);
    EXPECT_EQ(recording.of_type("summary").size(), 1u);
}

TEST(Recording, FindingIsOnDiskBeforeTheLaunch) {
    // abort ends the process inside the launch, SIGKILL right after it: the line is there, and no line is cut.
    TempFolder folder;
    Outcome aborted =
        run_on_double({victim("freed_input_driver")}, recorded(folder).with("KEEPGRAPH_ON_FINDING", "abort"));
    EXPECT_EQ(aborted.signal, SIGABRT);
    EXPECT_EQ(Recording::only_one_in(folder.path()).findings().size(), 1u);
    TempFolder other;
    Outcome killed = run_on_double({victim("exits_driver"), "sigkill"}, recorded(other));
    EXPECT_EQ(killed.signal, SIGKILL);
    Recording recording = Recording::only_one_in(other.path());
    EXPECT_EQ(recording.findings().size(), 1u);
    EXPECT_TRUE(recording.of_type("summary").empty());
}

TEST(Recording, NothingIsMadeWithoutAGraph) {
    TempFolder folder;
    expect_transparent({victim("entry_dlsym")}, recorded(folder));
    expect_transparent({"/bin/bash", "-c", "ls / | wc -l"}, recorded(folder));
    EXPECT_TRUE(recordings_in(folder.path()).empty());
}

TEST(Recording, EachProcessHasItsOwn) {
    for (const char* way : {"before", "exec", "vfork", "spawn"}) {
        TempFolder folder;
        expect_transparent({victim("forks_driver"), way}, recorded(folder));
        std::vector<std::string> folders = recordings_in(folder.path());
        ASSERT_EQ(folders.size(), 2u) << way;
        for (const std::string& path : folders) {
            Recording recording = Recording::read(path);
            EXPECT_EQ(recording.of_type("summary").size(), 1u) << way;
            EXPECT_EQ(recording.findings().size(), 1u) << way;
        }
    }
    const std::vector<std::vector<std::string>> children = {
        {victim("forks_driver"), "parent"}, {victim("forks_driver"), "after"},   {hostile("forks_after"), "abort"},
        {hostile("forks_after"), "frees"},  {hostile("forks_after"), "threads"}, {hostile("forks_after"), "_Fork"},
        {hostile("forks_after"), "clone"}};
    for (const std::vector<std::string>& args : children) {
        TempFolder folder;
        expect_transparent(args, recorded(folder));
        Recording recording = Recording::only_one_in(folder.path());
        EXPECT_EQ(recording.of_type("summary").size(), 1u) << args[1] << ": a child wrote into its parent's recording";
    }
}

TEST(Recording, FolderIsNeverUsedTwice) {
    TempFolder folder;
    Conditions conditions;
    conditions.env = {{"KEEPGRAPH_OUT", folder / "fixed"}};
    run_on_double({victim("healthy_shared")}, conditions);
    std::string first = read_file(folder / "fixed/events.jsonl");
    Outcome second = expect_transparent({victim("freed_input_shared")}, conditions);
    EXPECT_EQ(read_file(folder / "fixed/events.jsonl"), first);
    EXPECT_EQ(summary_of(second).value_or(Summary{}).findings, 1);
}

TEST(Recording, RelativeFolderIsTheOneOfTheStart) {
    TempFolder folder;
    Conditions conditions;
    conditions.directory = folder.path();
    conditions.env = {{"KEEPGRAPH_OUT", "here/recording-%p"}};
    expect_transparent({hostile("moves"), "chdir"}, conditions);
    EXPECT_EQ(Recording::only_one_in(folder.path()).findings().size(), 1u);
}

class RecordingForms : public testing::TestWithParam<const char*> {};

TEST_P(RecordingForms, SameRecordInFourBuilds) {
    Json reference;
    for (const char* form : {"shared", "static", "driver", "linked"}) {
        TempFolder folder;
        expect_transparent({victim(std::string(GetParam()) + "_" + form)}, recorded(folder));
        Json record = normalise(Recording::only_one_in(folder.path()).events);
        if (reference.is_null())
            reference = record;
        EXPECT_EQ(record, reference) << form << ": " << Json::diff(reference, record).dump(1);
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, RecordingForms,
                         testing::Values("healthy", "freed_input", "recycled", "memcpy_nodes", "async_free"),
                         [](const auto& info) { return std::string(info.param); });

/// The only node of a type.
Json node_of(const Json& graph, const std::string& type) {
    Json found;
    for (const Json& node : graph.at("nodes")) {
        if (node.at("node_type") != type)
            continue;
        EXPECT_TRUE(found.is_null()) << "two nodes of type " << type;
        found = node;
    }
    return found;
}

/// (allocation, offset) of each reference of a node by its slot.
std::map<std::string, std::pair<Json, Json>> places_of(const Json& node) {
    std::map<std::string, std::pair<Json, Json>> places;
    for (const Json& reference : node.at("references"))
        places[reference.at("slot")] = {reference.at("allocation"), reference.at("offset")};
    return places;
}

/// What dump_after_destroy.cpp put into its six nodes, value by value.
void expect_the_chain(const Json& graph) {
    EXPECT_EQ(graph.at("replays"), 2) << "written before the replays, so perhaps before the template was destroyed";
    const Json kernel = node_of(graph, "kernel"), set = node_of(graph, "memset"), copy = node_of(graph, "memcpy");
    EXPECT_EQ(kernel.at("kernel"), (Json{{"mangled", "_Z8kg_twiceIfEvPKT_PS0_i"},
                                         {"function", "void kg_twice<float>(float const*, float*, int)"},
                                         {"grid", {4, 1, 1}},
                                         {"block", {256, 1, 1}},
                                         {"shared_bytes", 0}}));
    EXPECT_EQ(kernel.at("kernel_name"), kernel.at("kernel").at("function"));
    const Json arguments = kernel.at("arguments");
    ASSERT_EQ(arguments.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(arguments[i].at("parameter"), i);
        EXPECT_EQ(arguments[i].at("offset"), 8 * i);
        EXPECT_EQ(arguments[i].at("size"), i < 2 ? 8 : 4);
    }
    EXPECT_EQ(arguments[2].at("bytes"), "00040000") << "1024 elements";
    const Json doubled = copy.at("memcpy").at("src"), rows = copy.at("memcpy").at("dst");
    EXPECT_EQ(copy.at("memcpy"), (Json{{"src", doubled},
                                       {"dst", rows},
                                       {"width_bytes", 64},
                                       {"height", 32},
                                       {"depth", 1},
                                       {"src_pitch", 128},
                                       {"dst_pitch", 128}}));
    EXPECT_EQ(set.at("memset"),
              (Json{{"dst", rows}, {"value", 0}, {"element_size", 1}, {"width", 4096}, {"height", 1}, {"pitch", 0}}));

    // Three whole buffers: the input, what the kernel writes and the copy reads, what memset and copy write.
    ASSERT_EQ(graph.at("allocations").size(), 3u);
    std::map<std::string, Json> ids;
    for (const Json& allocation : graph.at("allocations")) {
        EXPECT_EQ(allocation.at("size"), 4096);
        EXPECT_EQ(allocation.at("kind"), "device");
        ids[allocation.at("address")] = allocation.at("id");
    }
    using Places = std::map<std::string, std::pair<Json, Json>>;
    const Json of_doubled = ids.at(doubled), of_rows = ids.at(rows);
    ids.erase(doubled.get<std::string>());
    ids.erase(rows.get<std::string>());
    ASSERT_EQ(ids.size(), 1u);
    EXPECT_EQ(places_of(kernel),
              (Places{{"parameter 0 +0", {ids.begin()->second, 0}}, {"parameter 1 +0", {of_doubled, 0}}}));
    EXPECT_EQ(places_of(set), (Places{{"dst", {of_rows, 0}}}));
    EXPECT_EQ(places_of(copy), (Places{{"src", {of_doubled, 0}}, {"dst", {of_rows, 0}}}));

    const Json host = node_of(graph, "host");
    EXPECT_EQ(host.at("host").at("function"), host.at("host_fn_addr"));
    EXPECT_NE(host.at("host_fn_addr"), "0x0");
    EXPECT_NE(host.at("host").at("user_data"), "0x0");
    EXPECT_EQ(node_of(graph, "event_record").at("event_ptr"), node_of(graph, "wait_event").at("event_ptr"));
    EXPECT_TRUE(node_of(graph, "event_record").at("event_ptr").is_string());

    const char* const chain[] = {"kernel", "memset", "memcpy", "host", "event_record", "wait_event"};
    Json edges = Json::array();
    for (size_t i = 0; i + 1 < std::size(chain); ++i)
        edges.push_back({{"from", node_of(graph, chain[i]).at("index")},
                         {"to", node_of(graph, chain[i + 1]).at("index")},
                         {"from_port", 0},
                         {"to_port", 0},
                         {"type", 0}});
    Json found = graph.at("edges");
    std::sort(edges.begin(), edges.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, edges);
}

TEST(RecordingGraphs, DumpAfterTheTemplateIsGoneHasTheWholeChain) {
    for (const std::string line : {"dump_after_destroy_shared", "dump_after_destroy_driver",
                                   "dump_after_destroy_shared by_hand", "dump_after_destroy_driver by_hand"}) {
        SCOPED_TRACE(line);
        TempFolder folder;
        expect_transparent(program_line(line), recorded(folder));
        const Json graph = Recording::only_one_in(folder.path()).graph(1);
        ASSERT_TRUE(graph.at("edges_known"));
        EXPECT_EQ(graph.at("nodes").size(), 6u);
        expect_the_chain(graph);
    }
}

TEST(RecordingGraphs, WithoutGraphsOnlyThoseWithAFindingAreWritten) {
    TempFolder folder;
    expect_transparent({victim("shared_workspace")}, recorded(folder, "findings"));
    Recording recording = Recording::only_one_in(folder.path());
    EXPECT_TRUE(recording.has_graph_file(1));
    EXPECT_FALSE(recording.has_graph_file(2));
}

}  // namespace
}  // namespace keepgraph::preload_tests
