// SPDX-License-Identifier: Apache-2.0
// Stands for a program under the shim, and for the shim's writer: it does what its arguments say, one after the other.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

volatile sig_atomic_t last_signal = 0;

std::string folder_of_out() {
    const char* pattern = std::getenv("KEEPGRAPH_OUT");
    std::string folder;
    for (const char* c = pattern != nullptr ? pattern : ""; *c != '\0'; ++c) {
        if (*c != '%') {
            folder += *c;
            continue;
        }
        ++c;
        folder += *c == 'p' ? std::to_string(getpid()) : *c == '%' ? "%" : std::string(1, *c);
    }
    return folder;
}

// A recording as src/report/README.md has it, in the folder that OUT names.
void record(const std::string& events) {
    const std::string folder = folder_of_out();
    if (folder.empty()) {
        return;
    }
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/manifest.json") << R"({"schema": 1, "pid": )" << getpid() << "}\n";
    std::ofstream(folder + "/events.jsonl", std::ios::app) << events;
}

std::string summary(int findings) {
    return R"({"type": "summary", "t": 0.2, "thread": 1, "graphs": 1, "findings": )" + std::to_string(findings) + "}\n";
}

std::string finding(int number) {
    return R"({"type": "finding", "t": 0.1, "thread": 1, "finding": )" + std::to_string(number) +
           R"(, "graph": 1, "kind": "freed", "grade": "certain"})" + "\n";
}

/// R, S, T (stopped), ...; ? when there is no such process.
char state_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const auto name_end = text.rfind(") ");
    return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '?';
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto next = [&] { return i + 1 < argc ? argv[++i] : ""; };
        if (word == "args") {
            while (++i < argc) {
                std::printf("[%s]\n", argv[i]);
            }
        } else if (word == "env") {
            for (char** entry = environ; *entry != nullptr; ++entry) {
                if (std::strncmp(*entry, "KEEPGRAPH_", 10) == 0 || std::strncmp(*entry, "LD_PRELOAD=", 11) == 0) {
                    std::printf("%s\n", *entry);
                }
            }
        } else if (word == "parent") {
            std::printf("%d\n", static_cast<int>(getppid()));
        } else if (word == "death-signal") {
            int number = 0;
            prctl(PR_GET_PDEATHSIG, &number);
            std::printf("%d\n", number);
        } else if (word == "finding") {
            record(finding(1) + finding(2));
        } else if (word == "no-finding") {
            record(R"({"type": "notice", "t": 0.1, "thread": 1, "text": "\"type\": \"finding\""})"
                   "\n" +
                   summary(0));
        } else if (word == "torn-finding") {
            const std::string line = finding(1);
            record(line.substr(0, line.size() / 2));
        } else if (word == "lost-finding") {
            record(summary(1));
        } else if (word == "no-summary") {
            record(R"({"type": "instantiate", "t": 0.1, "thread": 1, "graph": 1})"
                   "\n");
        } else if (word == "damaged") {
            record("{\"type\": \"fin\n" + summary(0));
        } else if (word == "not-made") {
            // As a writer that cannot write its files: the folder is there for a moment.
            const std::string folder = folder_of_out();
            std::filesystem::create_directories(folder);
            std::filesystem::remove(folder);
        } else if (word == "remove-recording") {
            std::filesystem::remove_all(folder_of_out());
        } else if (word == "remove-run") {
            std::filesystem::remove_all(std::filesystem::path(folder_of_out()).parent_path());
        } else if (word == "unreadable") {
            record("");
            std::filesystem::remove(folder_of_out() + "/events.jsonl");
            std::filesystem::create_directory(folder_of_out() + "/events.jsonl");
        } else if (word == "newer") {
            record(summary(0));
            std::ofstream(folder_of_out() + "/manifest.json") << R"({"schema": 99})";
        } else if (word == "leave-running") {
            // A process that has made its recording and goes on when this one ends.
            int said[2];
            if (pipe(said) != 0) {
                return 90;
            }
            if (fork() == 0) {
                record(R"({"type": "instantiate", "t": 0.1, "thread": 1, "graph": 1})"
                       "\n");
                (void)!write(said[1], "x", 1);
                close(1);
                close(2);
                // Until whoever started the command ends the group.
                for (;;) {
                    pause();
                }
            }
            char answer = 0;
            (void)!read(said[0], &answer, 1);
        } else if (word == "coverage") {
            record(R"({"type": "coverage", "t": 0.1, "thread": 1, "wrapped": ["cuMemFree_v2", "cuGraphLaunch"],)"
                   R"( "unwrapped": ["cuInit"]})"
                   "\n");
        } else if (word == "fork") {
            // The rest is done by a child of a child, and this process ends well.
            std::fflush(stdout);
            if (fork() != 0) {
                wait(nullptr);
                return 0;
            }
        } else if (word == "chdir") {
            if (chdir(next()) != 0) {
                return 90;
            }
        } else if (word == "signal-parent") {
            // What somebody sends to the command has to come back here.
            const int number = std::atoi(next());
            struct sigaction action {};
            action.sa_handler = [](int which) { last_signal = which; };
            sigaction(number, &action, nullptr);
            sigset_t blocked;
            sigset_t before;
            sigfillset(&blocked);
            sigdelset(&blocked, SIGALRM);
            sigprocmask(SIG_BLOCK, &blocked, &before);
            if (number != SIGALRM) {
                alarm(20);
            }
            kill(getppid(), number);
            sigdelset(&blocked, number);
            while (last_signal == 0) {
                sigsuspend(&blocked);
            }
            sigprocmask(SIG_SETMASK, &before, nullptr);
            std::printf("got %d\n", static_cast<int>(last_signal));
        } else if (word == "stop-parent") {
            // Somebody stops the command, and lets it go on: this process with it.
            std::fflush(stdout);
            if (const pid_t self = getpid(), parent = getppid(), somebody = fork(); somebody == 0) {
                kill(parent, SIGTSTP);
                int tries = 1000;
                while (tries > 0 && (state_of(self) != 'T' || state_of(parent) != 'T')) {
                    usleep(10000);
                    --tries;
                }
                std::printf("program %c, command %c\n", state_of(self), state_of(parent));
                std::fflush(stdout);
                kill(parent, SIGCONT);
                _exit(0);
            } else {
                waitpid(somebody, nullptr, 0);
            }
        } else if (word == "mask") {
            sigset_t now;
            sigprocmask(SIG_SETMASK, nullptr, &now);
            struct sigaction child {};
            sigaction(SIGCHLD, nullptr, &child);
            int blocked = 0;
            for (int number = 1; number < SIGRTMIN; ++number) {
                blocked += sigismember(&now, number) == 1;
            }
            std::printf("%d blocked, SIGCHLD %s\n", blocked, child.sa_handler == SIG_IGN ? "ignored" : "default");
        } else if (word == "raise") {
            std::fflush(stdout);
            raise(std::atoi(next()));
        } else if (word == "exit") {
            return std::atoi(next());
        } else {
            std::fprintf(stderr, "fake_app: what is %s?\n", word.c_str());
            return 91;
        }
    }
    return 0;
}
