// SPDX-License-Identifier: Apache-2.0
#include "report/json_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include "report/text.h"

namespace keepgraph::report {
namespace {

constexpr std::size_t largest_text = 256u << 20;
constexpr int deepest_nesting = 64;

bool nested_too_deep(std::string_view text) {
    int depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > deepest_nesting)
                return true;
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return false;
}

/// A regular file opened for reading, closed at the end of the scope.
class InputFile {
  public:
    explicit InputFile(const std::string& path, std::string& error) {
        // O_NONBLOCK: opening a FIFO returns at once, and the check below turns it away.
        fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat status {};
        if (fd_ < 0 || fstat(fd_, &status) != 0) {
            error = ::strerrordesc_np(errno);
            reset();
        } else if (!S_ISREG(status.st_mode)) {
            error = "not a regular file";
            reset();
        }
    }
    ~InputFile() { reset(); }
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    bool is_open() const { return fd_ >= 0; }
    /// 0 at the end, -1 with errno on failure.
    ssize_t read_some(char* buffer, std::size_t size) const {
        ssize_t length;
        do {
            length = read(fd_, buffer, size);
        } while (length < 0 && errno == EINTR);
        return length;
    }

  private:
    void reset() {
        if (fd_ >= 0)
            close(fd_);
        fd_ = -1;
    }
    int fd_ = -1;
};

}  // namespace

std::optional<Json> parse_json(std::string_view text, std::string& error) {
    if (text.size() > largest_text) {
        error = "larger than 256 MiB";
        return std::nullopt;
    }
    if (nested_too_deep(text)) {
        error = "nested deeper than 64 levels";
        return std::nullopt;
    }
    Json result = Json::parse(text, nullptr, false);
    if (result.is_discarded() && !is_utf8(text))
        result = Json::parse(repair_utf8(text), nullptr, false);
    if (result.is_discarded()) {
        error = "not valid JSON";
        return std::nullopt;
    }
    return result;
}

std::optional<Json> read_json_file(const std::string& path, std::string& error) {
    InputFile file(path, error);
    if (!file.is_open())
        return std::nullopt;
    std::string text;
    std::vector<char> buffer(1 << 16);
    ssize_t length;
    while ((length = file.read_some(buffer.data(), buffer.size())) > 0 && text.size() <= largest_text)
        text.append(buffer.data(), static_cast<std::size_t>(length));
    if (length < 0) {
        error = ::strerrordesc_np(errno);
        return std::nullopt;
    }
    return parse_json(text, error);
}

bool for_each_line(const std::string& path, const std::function<void(std::uint64_t, const std::string&, bool)>& line,
                   std::string& error) {
    InputFile file(path, error);
    if (!file.is_open())
        return false;
    std::string text;
    std::uint64_t number = 1;
    bool too_long = false;
    std::vector<char> buffer(1 << 16);
    ssize_t length;
    while ((length = file.read_some(buffer.data(), buffer.size())) > 0) {
        std::string_view rest(buffer.data(), static_cast<std::size_t>(length));
        while (!rest.empty()) {
            const std::size_t end = rest.find('\n');
            const std::string_view part = rest.substr(0, end);
            too_long = too_long || text.size() + part.size() > largest_text;
            if (!too_long)
                text.append(part);
            if (end == std::string_view::npos)
                break;
            rest.remove_prefix(end + 1);
            line(number++, too_long ? std::string() : text, true);
            text.clear();
            too_long = false;
        }
    }
    if (length < 0) {
        error = ::strerrordesc_np(errno);
        return false;
    }
    if (!text.empty() || too_long)
        line(number, too_long ? std::string() : text, false);
    return true;
}

const Json* member(const Json& object, const char* key) {
    if (!object.is_object())
        return nullptr;
    const auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
}

std::string text_of(const Json& object, const char* key) {
    const Json* value = member(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

namespace {

Number to_count(const Json& value) {
    if (value.is_number_unsigned())
        return value.get<std::uint64_t>();
    if (value.is_number_integer() && value.get<std::int64_t>() >= 0)
        return static_cast<std::uint64_t>(value.get<std::int64_t>());
    return std::nullopt;
}

}  // namespace

Number count_of(const Json& object, const char* key) {
    const Json* value = member(object, key);
    return value != nullptr ? to_count(*value) : std::nullopt;
}

Number parse_address(std::string_view text) {
    if (text.size() < 3 || text[0] != '0' || text[1] != 'x')
        return std::nullopt;
    std::uint64_t result = 0;
    const auto [end, failed] = std::from_chars(text.data() + 2, text.data() + text.size(), result, 16);
    if (failed != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return result;
}

Number address_of(const Json& object, const char* key) {
    const Json* value = member(object, key);
    return value != nullptr && value->is_string() ? parse_address(value->get_ref<const std::string&>()) : std::nullopt;
}

std::optional<double> time_of(const Json& object, const char* key) {
    const Json* value = member(object, key);
    if (value == nullptr || !value->is_number())
        return std::nullopt;
    const double seconds = value->get<double>();
    return std::isfinite(seconds) ? std::optional<double>(seconds) : std::nullopt;
}

std::vector<std::uint64_t> counts_of(const Json& object, const char* key) {
    std::vector<std::uint64_t> result;
    const Json* value = member(object, key);
    if (value != nullptr && value->is_array()) {
        for (const Json& element : *value) {
            if (const Number number = to_count(element))
                result.push_back(*number);
        }
    }
    return result;
}

std::vector<const Json*> objects_of(const Json& object, const char* key) {
    std::vector<const Json*> result;
    const Json* value = member(object, key);
    if (value != nullptr && value->is_array()) {
        for (const Json& element : *value) {
            if (element.is_object())
                result.push_back(&element);
        }
    }
    return result;
}

}  // namespace keepgraph::report
