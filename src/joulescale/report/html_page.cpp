// SPDX-License-Identifier: Apache-2.0
#include "joulescale/report/html_page.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "joulescale/report/analysis_json.h"
#include "joulescale/report/assets.h"
#include "joulescale/report/escape.h"
#include "joulescale/report/measurement_notes.h"
#include "joulescale/report/number_format.h"
#include "joulescale/report/table_parts.h"
#include "joulescale/report/table_writers.h"

namespace joulescale {
namespace {

std::string html(std::string_view text) { return escape_html(one_line(text)); }

/// Plotly's bundle, the same program with the addresses in its templates for maps written
/// `https:\/\/`: the page draws no maps, and whoever searches it for requests finds none.
std::string plotly_script() {
  std::string script(plotly_js());
  for (const std::string_view start : {"href=\"http", "href='http", "src=\"http"}) {
    for (auto at = script.find(start); at != std::string::npos; at = script.find(start, at)) {
      at += start.size();
      const auto slashes = script.find("//", at);
      if (slashes <= at + 2) {  // "://" or "s://"
        script.replace(slashes, 2, "\\/\\/");
      }
    }
  }
  return script;
}

struct Card {
  std::string title;
  std::string value;
  std::string detail;
};

std::string format_card(const Card& card) {
  return fmt::format(
      "<div class=\"card\"><dt>{}</dt><dd>{}</dd><dd class=\"detail\">{}</dd></div>\n",
      html(card.title),
      html(card.value),
      html(card.detail));
}

Card run_card(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  const std::size_t ended = analysis.num_complete_runs + analysis.num_failed_runs;
  const std::size_t all = std::max(ended, report.num_planned_runs.value_or(0));
  const std::string failed =
      analysis.num_failed_runs > 0 ? fmt::format(", {} failed", analysis.num_failed_runs) : "";
  return {"Complete runs",
          fmt::format("{} of {}", analysis.num_complete_runs, all),
          fmt::format("{} configurations{}", analysis.configurations.size(), failed)};
}

/// Failed runs have used energy too.
std::optional<Card> energy_card(const StudyReport& report) {
  Joules sum;
  std::size_t num_runs = 0;
  for (const RunRecord& run : report.runs) {
    if (const auto energy = basis_energy(run, report.analysis.energy_basis)) {
      sum += *energy;
      ++num_runs;
    }
  }
  if (num_runs == 0) {
    return std::nullopt;
  }
  return Card{fmt::format("Energy of the study{}", energy_label(report.analysis)),
              format_rounded(kilowatt_hours(sum)) + " kWh",
              fmt::format("{} runs, failed ones included", num_runs)};
}

std::optional<Card> fit_card(const StudyAnalysis& analysis) {
  const auto& fits = analysis.groups.back().fits;
  if (fits.empty() || !fits.front().a) {
    return std::nullopt;
  }
  const Fit& fit = fits.front();
  if (fit.r2 && *fit.r2 < 0.0) {
    return Card{fmt::format("Energy{} = a \xC2\xB7 h, all configurations", energy_label(analysis)),
                "no fit",
                "device hours explain no part of the energy (R\xC2\xB2 below 0)"};
  }
  return Card{fmt::format("Energy{} = a \xC2\xB7 h, all configurations", energy_label(analysis)),
              format_rounded(fit.a->value) + " kWh/h",
              fit.r2 ? fmt::format("R\xC2\xB2 = {}", format_rounded(*fit.r2)) : ""};
}

std::optional<Card> error_card(const StudyAnalysis& analysis) {
  const MeasuredConfiguration* best = nullptr;
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    const auto& error = configuration.top1_error_percent.mean;
    if (error && (best == nullptr || *error < *best->top1_error_percent.mean)) {
      best = &configuration;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return Card{"Lowest top-1 error",
              format_mean_and_sd(best->top1_error_percent) + " %",
              describe(best->key)};
}

std::string format_cards(const StudyReport& report) {
  std::string text = "<dl class=\"cards\">\n";
  if (!report.runs.empty()) {
    text += format_card(run_card(report));
  } else {
    text += format_card({"Configurations",
                         fmt::format("{}", report.analysis.configurations.size()),
                         "from a file of run summaries"});
  }
  for (const auto& card :
       {energy_card(report), fit_card(report.analysis), error_card(report.analysis)}) {
    text += card ? format_card(*card) : "";
  }
  return text + "</dl>\n";
}

/// "2026-12-01 to 2026-12-03", from RFC 3339 text, whose order is that of time.
std::string date_range(const std::vector<RunRecord>& runs) {
  std::set<std::string> dates;
  for (const RunRecord& run : runs) {
    if (!run.started_at.empty()) {
      dates.insert(run.started_at.substr(0, 10));
    }
  }
  if (dates.empty()) {
    return "";
  }
  return dates.size() == 1 ? *dates.begin() : *dates.begin() + " to " + *dates.rbegin();
}

std::string format_badge(const StudyReport& report) {
  std::string_view style = "estimated";
  std::string_view text =
      report.analysis.all_estimated ? "energy estimated, not measured" : "energy with estimates";
  if (report.runs.empty()) {
    style = "given";
    text = "energy as the file gives it";
  } else if (report.analysis.energy_basis == EnergyBasis::kMeasured) {
    style = "measured";
    text = "energy measured";
  }
  return fmt::format("<p class=\"badge {}\">{}</p>\n", style, text);
}

std::string format_header(const StudyReport& report) {
  const StudyAnalysis& analysis = report.analysis;
  std::set<std::string> hardware;
  std::set<std::string> workloads;
  for (const MeasuredConfiguration& configuration : analysis.configurations) {
    const ConfigurationKey& key = configuration.key;
    hardware.insert(key.hardware);
    workloads.insert(key.workload + (key.dataset.empty() ? "" : " on " + key.dataset));
  }
  std::string facts;
  const auto add_fact = [&](const std::string& fact) {
    facts += fact.empty() ? "" : fmt::format("<li>{}</li>", html(fact));
  };
  for (const auto* texts : {&workloads, &hardware}) {
    constexpr std::size_t kMostShown = 3;
    for (const std::string& text : *texts) {
      add_fact(texts->size() <= kMostShown ? text : "");
    }
  }
  add_fact(date_range(report.runs));
  add_fact(report.source);
  return fmt::format(
      "<header class=\"page\">\n<p class=\"kicker\">joulescale report</p>\n<h1>{}</h1>\n"
      "<ul class=\"facts\">{}</ul>\n{}</header>\n",
      html(analysis.name.empty() ? report.source : analysis.name),
      facts,
      format_badge(report));
}

std::string format_plot(std::string_view id, const std::string& title, std::string_view size) {
  return fmt::format(
      "<figure class=\"plot {2}\" id=\"plot-{0}\">\n<figcaption>{1}</figcaption>\n"
      "<div class=\"canvas\"></div>\n<p class=\"plot-note\"></p>\n</figure>\n",
      id,
      html(title),
      size);
}

std::string format_plots(const StudyAnalysis& analysis) {
  const std::string energy = fmt::format("Energy{}", energy_label(analysis));
  const std::string hours = device_hours_title(analysis);
  const std::string devices = device_words(analysis).many;
  return "<section id=\"plots\">\n<h2>Plots</h2>\n<div class=\"plots\">\n" +
         format_plot("energy", energy + " against " + devices, "half") +
         format_plot("runtime", "Runtime against " + devices, "half") +
         format_plot("fit", energy + " against " + hours + ", with fits", "full") +
         format_plot("error", "Top-1 error against global batch size", "half") +
         format_plot("phases", "Shares of the phases", "half") + "</div>\n</section>\n";
}

std::string format_list(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return "";
  }
  std::string text = fmt::format("<section class=\"problems\">\n<h2>{}</h2>\n<ul>\n", html(title));
  for (const std::string& line : lines) {
    text += fmt::format("<li>{}</li>\n", html(line));
  }
  return text + "</ul>\n</section>\n";
}

/// A section with those of its tables that have rows; nothing when none has.
std::string format_section(std::string_view id,
                           std::string_view title,
                           const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) {
    text += table.rows.empty() ? "" : format_html_table(table);
  }
  return text.empty()
             ? ""
             : fmt::format(
                   "<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", html(id), html(title), text);
}

std::string format_footer(std::string_view program_version) {
  return fmt::format(
      "<footer>\n<p>Written by joulescale {}. The numbers of this page stand in its element "
      "<code>joulescale-analysis</code> (schema {}).</p>\n"
      "<details><summary>Plotly.js, which draws the plots: licence</summary><pre>{}</pre>"
      "<p>Changed here: slashes of addresses in its templates for maps are escaped.</p></details>\n"
      "</footer>\n",
      html(program_version),
      kAnalysisSchema,
      escape_html(plotly_license()));
}

constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
    "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:\">\n";

}  // namespace

Result<std::string> format_html_page(const StudyReport& report, std::string_view program_version) {
  if (plotly_js().empty()) {
    return Error(ErrorCode::kUnsupported,
                 "this joulescale was built without Plotly's bundle, so it writes no page: run "
                 "scripts/bootstrap.sh and build again");
  }
  const StudyAnalysis& analysis = report.analysis;
  std::string page(kHead);
  page +=
      fmt::format("<title>{}: joulescale report</title>\n<style>\n{}</style>\n</head>\n<body>\n",
                  html(analysis.name.empty() ? report.source : analysis.name),
                  report_css());
  page += format_header(report);
  page += "<main>\n" + format_cards(report);
  page +=
      "<noscript><p class=\"plot-note\">The plots need JavaScript; the tables do not."
      "</p></noscript>\n";
  page += format_plots(analysis);
  page += format_section("results",
                         "Results",
                         {configuration_table(report, Columns::kInformative),
                          fit_table(report, Columns::kInformative),
                          scaling_table(report),
                          phase_table(report, Columns::kInformative)});
  page += format_section("measurement",
                         "What was measured, and how",
                         {component_table(report), source_table(report), hardware_table(report)});
  page += format_section(
      "runs",
      "Runs",
      {failed_run_table(report), flag_table(report), run_table(report), baseline_table(report)});
  page += format_list("What could not be read", report.problems);
  page += "</main>\n" + format_footer(program_version);
  page +=
      fmt::format("<script type=\"application/json\" id=\"joulescale-analysis\">\n{}</script>\n",
                  escape_json_for_html(format_analysis_json(analysis)));
  page += fmt::format("<script>\n{}\n</script>\n<script>\n{}</script>\n</body>\n</html>\n",
                      plotly_script(),
                      report_js());
  return page;
}

}  // namespace joulescale
