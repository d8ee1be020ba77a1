// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <string_view>

namespace keepgraph::cli {
namespace {

std::string wrapped(std::string_view text, std::size_t indent) {
    constexpr std::size_t width = 100;
    const std::string margin(indent, ' ');
    std::string result;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        while (line.size() > width - indent) {
            std::size_t cut = line.rfind(' ', width - indent);
            if (cut == std::string_view::npos) {
                cut = line.find(' ');
            }
            if (cut == std::string_view::npos) {
                break;
            }
            result += margin + std::string(line.substr(0, cut)) + "\n";
            line.remove_prefix(cut + 1);
        }
        result += margin + std::string(line) + "\n";
    }
    return result;
}

class HelpFormatter : public CLI::Formatter {
  public:
    explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) {}

    std::string make_usage(const CLI::App*, std::string) const override { return usage_ + "\n"; }
    std::string make_option(const CLI::Option* option, bool is_positional) const override {
        return "  " + make_option_name(option, is_positional) + make_option_opts(option) + "\n" +
               wrapped(option->get_description(), 6);
    }
    /// The name of the value alone. CLI11 puts allowed values, defaults, "REQUIRED" and "Needs: ..." behind it; here
    /// the descriptions say so in words.
    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string type = option->get_type_name();
        return type.empty() ? "" : " " + type.substr(0, type.find(':'));
    }
    /// CLI11 ends each group with a blank line and begins the next, and the footer, with another.
    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
        std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
        for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) {
            text.erase(at, 1);
        }
        return text;
    }
    std::string make_footer(const CLI::App* app) const override { return "\n" + wrapped(app->get_footer(), 0); }

  private:
    std::string usage_;
};

}  // namespace

void set_help(CLI::App& command, const std::string& usage) {
    command.formatter(std::make_shared<HelpFormatter>(usage));
}

}  // namespace keepgraph::cli
