// SPDX-License-Identifier: Apache-2.0
#include "report/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "report/json_text.h"

namespace keepgraph::report {
namespace {

// Numbers that are no integers are times: microseconds are enough. No %f, which prints the decimal point of the host's
// locale.
void write_seconds(std::string& out, double seconds) {
    if (!std::isfinite(seconds) || std::fabs(seconds) > 1e12) {
        out += "null";
        return;
    }
    const auto micros = static_cast<long long>(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5));
    char text[40];
    std::snprintf(text, sizeof text, "%s%lld.%06lld", micros < 0 ? "-" : "", std::abs(micros) / 1000000,
                  std::abs(micros) % 1000000);
    out += text;
}

void new_line(std::string& out, int indent, int level) {
    if (indent < 0)
        return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
}

}  // namespace

// The copy is made first. libstdc++ 12's variant, when it copies by itself and an alternative throws, destroys the
// alternative that was never made: it takes strings and vectors for types that cannot leave a variant without a value.
Json::Json(const Json& from) {
    std::visit(
        [&](const auto& value) {
            auto copy = value;
            value_ = std::move(copy);
        },
        from.value_);
}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json& from) {
    return *this = Json(from);
}
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> values) {
    const auto pair_of = [](const Json& value) {
        const auto* const pair = std::get_if<Array>(&value.value_);
        return pair != nullptr && pair->size() == 2 && std::holds_alternative<std::string>((*pair)[0].value_) ? pair
                                                                                                              : nullptr;
    };
    if (!std::all_of(values.begin(), values.end(), pair_of)) {
        value_.emplace<Array>(values);
        return;
    }
    Object& object = value_.emplace<Object>();
    object.keys.reserve(values.size());
    object.values.reserve(values.size());
    for (const Json& value : values) {
        const Array& pair = *pair_of(value);
        object.keys.push_back(std::get<std::string>(pair[0].value_));
        object.values.push_back(pair[1]);
    }
}

Json Json::array() {
    return Json(Array{});
}

Json Json::object() {
    Json json;
    json.value_.emplace<Object>();
    return json;
}

bool Json::empty() const noexcept {
    if (const auto* const array = std::get_if<Array>(&value_))
        return array->empty();
    const auto* const object = std::get_if<Object>(&value_);
    return object == nullptr || object->keys.empty();
}

Json& Json::operator[](std::string_view key) {
    if (!is_object())
        value_.emplace<Object>();
    Object& object = std::get<Object>(value_);
    const auto at = std::find(object.keys.begin(), object.keys.end(), key);
    if (at != object.keys.end())
        return object.values[static_cast<std::size_t>(at - object.keys.begin())];
    Json& made = object.values.emplace_back();
    object.keys.emplace_back(key);
    return made;
}

void Json::erase(std::string_view key) {
    auto* const object = std::get_if<Object>(&value_);
    if (object == nullptr)
        return;
    const auto at = std::find(object->keys.begin(), object->keys.end(), key);
    if (at == object->keys.end())
        return;
    object->values.erase(object->values.begin() + (at - object->keys.begin()));
    object->keys.erase(at);
}

void Json::update(const Json& other) {
    if (const auto* const object = std::get_if<Object>(&other.value_))
        for (std::size_t i = 0; i < object->keys.size(); ++i)
            (*this)[object->keys[i]] = object->values[i];
}

void Json::push_back(Json value) {
    if (!std::holds_alternative<Array>(value_))
        value_.emplace<Array>();
    std::get<Array>(value_).push_back(std::move(value));
}

std::string Json::dump(int indent) const {
    std::string text;
    write(text, indent, 0);
    return text;
}

void Json::write(std::string& out, int indent, int level) const {
    const auto list = [&](std::size_t size, char open, char close, auto write_one) {
        out += open;
        for (std::size_t i = 0; i < size; ++i) {
            if (i > 0)
                out += ',';
            new_line(out, indent, level + 1);
            write_one(i);
        }
        if (size > 0)
            new_line(out, indent, level);
        out += close;
    };
    if (const auto* const array = std::get_if<Array>(&value_))
        list(array->size(), '[', ']', [&](std::size_t i) { (*array)[i].write(out, indent, level + 1); });
    else if (const auto* const object = std::get_if<Object>(&value_))
        list(object->keys.size(), '{', '}', [&](std::size_t i) {
            append_string(out, object->keys[i]);
            out += indent < 0 ? ":" : ": ";
            object->values[i].write(out, indent, level + 1);
        });
    else if (const auto* const text = std::get_if<std::string>(&value_))
        append_string(out, *text);
    else if (const auto* const signed_number = std::get_if<std::int64_t>(&value_))
        out += std::to_string(*signed_number);
    else if (const auto* const number = std::get_if<std::uint64_t>(&value_))
        out += std::to_string(*number);
    else if (const auto* const seconds = std::get_if<double>(&value_))
        write_seconds(out, *seconds);
    else if (const auto* const truth = std::get_if<bool>(&value_))
        out += *truth ? "true" : "false";
    else
        out += "null";
}

}  // namespace keepgraph::report
