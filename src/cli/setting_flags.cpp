// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_flags.h"

#include "config/settings.h"

namespace keepgraph::cli {

void SettingFlags::add_to(CLI::App& command) {
    const auto rows = config::settings_table();
    values_.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const config::Row& row = rows[i];
        const std::string default_text = *row.default_text != '\0' ? row.default_text : "empty";
        CLI::Option* option = command.add_option(
            "--" + config::flag_name(row), values_[i],
            std::string(row.help) + "\nAllowed: " + row.allowed + ". Default: " + default_text + ".");
        option->type_name("VALUE")->group("Settings (each is " + std::string("KEEPGRAPH_NAME in the environment)"));
        option->check(
            [&row](const std::string& value) {
                config::Settings scratch;
                // Empty means the default, as in the environment.
                return value.empty() || row.parse(value, scratch) ? std::string()
                                                                  : value + " is not allowed: use " + row.allowed;
            },
            "");
        options_.push_back(option);
    }
}

std::vector<std::pair<std::string, std::string>> SettingFlags::given() const {
    std::vector<std::pair<std::string, std::string>> result;
    const auto rows = config::settings_table();
    for (std::size_t i = 0; i < options_.size(); ++i) {
        if (options_[i]->count() > 0) {
            result.emplace_back(config::variable_name(rows[i]), values_[i]);
        }
    }
    return result;
}

std::string settings_markdown() {
    const auto cell = [](std::string text) {
        for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
            text.insert(at, "\\");
        }
        return text;
    };
    std::string text = "| variable | flag of `run` | allowed | default | |\n|---|---|---|---|---|\n";
    for (const config::Row& row : config::settings_table()) {
        text += "| " + config::variable_name(row) + " | --" + config::flag_name(row) + " | " + cell(row.allowed) +
                " | " + (*row.default_text != '\0' ? cell(row.default_text) : "(empty)") + " | " + cell(row.help) +
                " |\n";
    }
    return text;
}

}  // namespace keepgraph::cli
