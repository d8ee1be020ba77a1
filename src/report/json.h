// SPDX-License-Identifier: Apache-2.0
//
// JSON values as the writer's side builds them: no parser, no more than a recording needs.
//
// Not nlohmann-json, which the reader uses: its destructor allocates (it moves what it holds into a vector, against
// recursion). When memory runs out that throws out of a destructor, usually while another exception unwinds, and ends
// the host. Here nothing is allocated to destroy or to move a value; values are as deep as our own code nests them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace keepgraph::report {

/// Members keep their order. Built like nlohmann's: {{"key", value}, ...} is an object, any other list an array.
class Json {
  public:
    using Array = std::vector<Json>;

    Json() noexcept = default;  ///< null
    Json(std::nullptr_t) noexcept {}
    Json(bool value) noexcept : value_(value) {}
    template <std::integral Number>
    Json(Number number) : value_(Wide<Number>(number)) {}
    Json(double seconds) noexcept : value_(seconds) {}
    Json(const char* text) : value_(std::in_place_type<std::string>, text) {}
    Json(std::string text) noexcept : value_(std::move(text)) {}
    Json(Array values) noexcept : value_(std::move(values)) {}
    Json(std::initializer_list<Json> values);
    Json(const Json&);
    Json(Json&&) noexcept;
    Json& operator=(const Json&);
    Json& operator=(Json&&) noexcept;
    ~Json();

    static Json array();
    static Json object();

    bool is_object() const noexcept { return std::holds_alternative<Object>(value_); }
    /// Of an array or object; anything else has no elements.
    bool empty() const noexcept;

    /// The member of this name of an object, made as null when there is none. A null becomes an object.
    Json& operator[](std::string_view key);
    void erase(std::string_view key);
    /// Takes over the members of `other`, in the place of those with the same name.
    void update(const Json& other);
    /// To an array. A null becomes one.
    void push_back(Json value);

    /// One line, or one line per value, indented by `indent` for each level. What is no UTF-8 becomes U+FFFD.
    std::string dump(int indent = -1) const;

  private:
    template <class Number>
    using Wide = std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t>;
    struct Object {
        std::vector<std::string> keys;
        std::vector<Json> values;  ///< of the key at the same place
    };

    void write(std::string& out, int indent, int level) const;

    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_{nullptr};
};

}  // namespace keepgraph::report
