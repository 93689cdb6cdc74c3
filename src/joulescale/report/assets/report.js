// SPDX-License-Identifier: Apache-2.0
// Draws the plots of the report page from the analysis embedded in it (joulescale.analysis/1). Uses nothing but
// that element, the page's style and Plotly. When all plots stand, <html> carries data-plots="drawn".
"use strict";
(() => {
  const analysis = JSON.parse(document.getElementById("joulescale-analysis").textContent);
  const configurations = analysis.configurations;
  const seriesNames = analysis.groups.map((group) => group.name).filter((name) => name !== "all");
  const energyLabel = analysis.energy_basis === "measured" ? ""
    : analysis.all_estimated ? " (estimated)" : " (with estimates)";
  const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star"];
  const DASHES = { "a*h": "solid", "a*h+b": "dash", "c*h^k": "dot" };
  const PHASE_ORDER = ["data", "host_to_device", "forward", "backward", "optimizer", "evaluation", "checkpoint"];
  const LOG_RATIO = 20;  // a wider range of values than this is drawn on a logarithmic axis

  // Plotly reads a few HTML tags in its texts: what users named is shown as it is.
  const literal = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const digits = (value, count) => Number(value.toPrecision(count)).toString();

  const kinds = new Set(configurations.map((c) => c.device_kind));
  const oneKind = kinds.size === 1 ? [...kinds][0] : "";
  const device = { gpu: "GPU", cpu_rank: "CPU rank" }[oneKind] || "device";
  const deviceHours = { gpu: "GPU hours", cpu_rank: "CPU-rank hours" }[oneKind] || "device hours";

  function theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    return {
      text: read("--text"), muted: read("--muted"), line: read("--line"), surface: read("--surface"),
      series: read("--series").split(/\s+/),
      font: getComputedStyle(document.body).fontFamily,
    };
  }

  function describe(c) {
    let text = `${c.devices} ${device}${c.devices === 1 ? "" : "s"}`;
    if (c.local_batch_size !== undefined) text += `, LBS ${c.local_batch_size}`;
    if (c.global_batch_size !== undefined) text += `, GBS ${c.global_batch_size}`;
    return text;
  }

  const withSpread = (summary, unit) => summary === undefined ? "-"
    : digits(summary.mean, 5) + (summary.sd === undefined ? "" : ` ± ${digits(summary.sd, 2)}`) + ` ${unit}`;

  function hover(name, c) {
    return [
      `<b>${literal(name)}</b>: ${describe(c)}`,
      `energy${energyLabel}: ${withSpread(c.energy_kwh, "kWh")}`,
      `runtime: ${withSpread(c.runtime_s, "s")}`,
      `${deviceHours}: ${withSpread(c.device_hours, "h")}`,
      `top-1 error: ${withSpread(c.top1_error_percent, "%")}`,
      c.repetitions === undefined ? "" : `${c.repetitions} run${c.repetitions === 1 ? "" : "s"}`,
    ].filter((line) => line !== "").join("<br>");
  }

  // Series with their configurations; those outside every series come last under the study's name.
  function seriesMembers() {
    const members = seriesNames.map((name) => ({ name, list: configurations.filter((c) => c.series.includes(name)) }));
    const outside = configurations.filter((c) => c.series.length === 0);
    if (outside.length > 0) members.push({ name: analysis.name || "runs", list: outside });
    return members;
  }

  // Logarithmic where the positive values span more than LOG_RATIO. What such an axis cannot show is counted.
  function scaleOf(values) {
    const positive = values.filter((value) => value > 0);
    const isLog = positive.length > 1 && Math.max(...positive) / Math.min(...positive) > LOG_RATIO;
    const decades = isLog ? Math.log10(Math.max(...positive) / Math.min(...positive)) : 0;
    return { isLog, decades, shows: (value) => !isLog || value > 0, hidden: isLog ? values.length - positive.length : 0 };
  }

  const hiddenNote = (...scales) => {
    const hidden = scales.reduce((sum, scale) => sum + scale.hidden, 0);
    return hidden === 0 ? "" : `${hidden} value${hidden === 1 ? "" : "s"} of 0 or less ${hidden === 1 ? "is" : "are"} not shown on a logarithmic axis. `;
  };

  // Ticks at the values themselves (counts and batch sizes are few); thinned where they would touch.
  function tickAxis(values, title, colors) {
    const distinct = [...new Set(values)].sort((a, b) => a - b);
    const isLog = distinct.length > 1 && distinct[distinct.length - 1] / distinct[0] >= 8;
    const position = (value) => isLog ? Math.log2(value) : value;
    const low = position(distinct[0]);
    const span = position(distinct[distinct.length - 1]) - low || 1;
    const ticks = [];
    for (const value of distinct) {
      if (ticks.length === 0 || (position(value) - position(ticks[ticks.length - 1])) / span > 0.06) ticks.push(value);
    }
    const pad = 0.08 * span;
    const range = [low - pad, low + (distinct.length > 1 ? span : 0) + pad];
    return {
      ...axis(title, colors), type: isLog ? "log" : "linear", tickvals: ticks, ticktext: ticks.map(String),
      range: isLog ? range.map((value) => value * Math.log10(2)) : range,
    };
  }

  function axis(title, colors) {
    return {
      title: { text: title, standoff: 12 }, gridcolor: colors.line, linecolor: colors.muted, tickcolor: colors.muted,
      zerolinecolor: colors.line, ticks: "outside", automargin: true, showline: true, exponentformat: "none",
    };
  }

  function valueAxis(title, scale, colors) {
    const log = { type: "log", dtick: scale.decades < 3 ? "D2" : 1 };
    return { ...axis(title, colors), ...(scale.isLog ? log : { type: "linear", rangemode: "tozero" }) };
  }

  function layout(colors, more) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: colors.font, size: 13, color: colors.text },
      margin: { l: 60, r: 16, t: 10, b: 50 }, height: 380, hovermode: "closest",
      hoverlabel: { align: "left", bgcolor: colors.surface, bordercolor: colors.muted, font: { color: colors.text } },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" },
      ...more,
    };
  }

  const errorBars = (list, quantity) => ({
    type: "data", array: list.map((c) => (c[quantity] && c[quantity].sd) || 0), thickness: 1.3, width: 4,
    visible: list.some((c) => c[quantity] && c[quantity].sd > 0),
  });

  function seriesStyle(index, colors) {
    const color = colors.series[index % colors.series.length];
    return {
      marker: { color, size: 9, symbol: SYMBOLS[index % SYMBOLS.length], line: { color: colors.surface, width: 1 } },
      line: { color, width: 2 },
    };
  }

  function draw(id, traces, plotLayout, note) {
    const figure = document.getElementById(`plot-${id}`);
    figure.querySelector(".plot-note").textContent = note || "";
    figure.dataset.points = traces.reduce((sum, trace) => sum + (trace.isData ? trace.x.length : 0), 0);
    return Plotly.react(figure.querySelector(".canvas"), traces, plotLayout, {
      responsive: true, displaylogo: false, displayModeBar: false, plotlyServerURL: "",
    });
  }

  function drawNothing(id, reason) {
    const figure = document.getElementById(`plot-${id}`);
    figure.querySelector(".plot-note").textContent = reason;
    figure.dataset.points = 0;
    return Promise.resolve();
  }

  // One trace a series: `quantity` with its spread over `xOf`.
  function seriesTraces(xOf, quantity, scale, colors) {
    const traces = [];
    seriesMembers().forEach(({ name, list }, index) => {
      const drawn = list.filter((c) => xOf(c) !== undefined && c[quantity] && scale.shows(c[quantity].mean))
        .sort((a, b) => xOf(a) - xOf(b));
      if (drawn.length === 0) return;
      traces.push({
        type: "scatter", mode: drawn.length > 1 ? "lines+markers" : "markers", isData: true, name: literal(name),
        x: drawn.map(xOf), y: drawn.map((c) => c[quantity].mean), error_y: errorBars(drawn, quantity),
        text: drawn.map((c) => hover(name, c)), hoverinfo: "text", showlegend: true, ...seriesStyle(index, colors),
      });
    });
    return traces;
  }

  const meansOf = (quantity) => configurations.map((c) => c[quantity]).filter((s) => s !== undefined).map((s) => s.mean);
  const spreadNote = () => configurations.some((c) => c.energy_kwh && c.energy_kwh.sd !== undefined)
    ? (analysis.spread === "sample_standard_deviation" ? "Bars: sample standard deviation." : "Bars: standard deviation as given.")
    : "";

  function drawOverDevices(id, quantity, title, colors) {
    const scale = scaleOf(meansOf(quantity));
    const traces = seriesTraces((c) => c.devices, quantity, scale, colors);
    if (traces.length === 0) return drawNothing(id, "No run has this quantity.");
    return draw(id, traces, layout(colors, {
      xaxis: tickAxis(configurations.map((c) => c.devices), `number of ${device}s`, colors),
      yaxis: valueAxis(title, scale, colors),
    }), hiddenNote(scale) + spreadNote());
  }

  function predicted(fit, h) {
    if (fit.form === "a*h") return fit.a * h;
    if (fit.form === "a*h+b") return fit.a * h + fit.b;
    return fit.c * h ** fit.k;
  }

  function formula(fit) {
    const signed = (value) => `${value < 0 ? "−" : "+"} ${digits(Math.abs(value), 4)}`;
    if (fit.form === "a*h") return `E = ${digits(fit.a, 4)} h`;
    if (fit.form === "a*h+b") return `E = ${digits(fit.a, 4)} h ${signed(fit.b)}`;
    return `E = ${digits(fit.c, 4)} h<sup>${digits(fit.k, 4)}</sup>`;
  }

  // A fit is drawn where it stays near the measured energies: far from them it would flatten the plot, and means nothing.
  function fitTrace(group, fit, hours, scales, energies, color, visible) {
    const near = (energy) => energy <= 1.3 * Math.max(...energies) && energy >= (scales.y.isLog ? Math.min(...energies) / 3 : 0);
    const low = scales.x.isLog ? Math.min(...hours.filter((h) => h > 0)) : 0;
    const high = Math.max(...hours);
    const x = [];
    for (let i = 0; i <= 120; i++) {
      const part = i / 120;
      x.push(scales.x.isLog ? low * (high / low) ** part : low + part * (high - low));
    }
    const shown = x.filter((h) => h > 0 && scales.y.shows(predicted(fit, h)) && near(predicted(fit, h)));
    let r2 = fit.r2 === undefined ? "" : `, R² = ${fit.r2.toFixed(4)}`;
    if (fit.intervals === undefined) r2 = ", through its points";
    return {
      type: "scatter", mode: "lines", name: `${literal(group)}: ${formula(fit)}${r2}`, x: shown,
      y: shown.map((h) => predicted(fit, h)), hoverinfo: "name", visible, cliponaxis: true,
      line: { color, width: 2, dash: DASHES[fit.form] },
    };
  }

  function drawFit(colors) {
    const points = configurations.filter((c) => c.energy_kwh && c.device_hours);
    if (points.length === 0) return drawNothing("fit", "No run has an energy.");
    const scales = { x: scaleOf(meansOf("device_hours")), y: scaleOf(meansOf("energy_kwh")) };
    const hoursOf = (list) => list.map((c) => c.device_hours.mean);
    const traces = [];
    seriesMembers().forEach(({ name, list }, index) => {
      const drawn = list.filter((c) => points.includes(c) && scales.y.shows(c.energy_kwh.mean) && scales.x.shows(c.device_hours.mean));
      if (drawn.length === 0) return;
      traces.push({
        type: "scatter", mode: "markers", isData: true, name: literal(name), x: hoursOf(drawn),
        y: drawn.map((c) => c.energy_kwh.mean), error_y: errorBars(drawn, "energy_kwh"),
        error_x: errorBars(drawn, "device_hours"), text: drawn.map((c) => hover(name, c)), hoverinfo: "text",
        showlegend: true, ...seriesStyle(index, colors),
      });
    });
    const energies = points.map((c) => c.energy_kwh.mean).filter(scales.y.shows);
    const narrow = window.innerWidth < 900;
    let allIsFitted = false;
    for (const group of [...analysis.groups.slice(-1), ...analysis.groups.slice(0, -1)]) {
      const index = seriesNames.indexOf(group.name);
      const members = index < 0 ? points : points.filter((c) => c.series.includes(group.name));
      for (const fit of group.fits) {
        const color = index < 0 ? colors.muted : colors.series[index % colors.series.length];
        const shown = index < 0 || (!allIsFitted && fit.form === "a*h");
        if (narrow && !shown) continue;  // no room for a legend of every fit: the table has them
        traces.push(fitTrace(group.name, fit, hoursOf(members), scales, energies, color, shown ? true : "legendonly"));
      }
      allIsFitted = allIsFitted || (index < 0 && group.fits.length > 0);
    }
    const beside = { legend: { x: 1.02, y: 1, yanchor: "top", traceorder: "normal" } };
    return draw("fit", traces, layout(colors, {
      height: narrow ? 560 : 480, ...(narrow ? {} : beside),
      xaxis: valueAxis(`${deviceHours} h [h]`, scales.x, colors),
      yaxis: valueAxis(`energy${energyLabel} E [kWh]`, scales.y, colors),
    }), `${hiddenNote(scales.x, scales.y)}${spreadNote()} A click in the legend shows or hides a fit; R² is about the mean, in kWh, for every form.`);
  }

  function drawError(colors) {
    const scale = { isLog: false, decades: 0, shows: () => true, hidden: 0 };
    const traces = seriesTraces((c) => c.global_batch_size, "top1_error_percent", scale, colors);
    if (traces.length === 0) return drawNothing("error", "No run recorded a top-1 error and a global batch size.");
    const sizes = configurations.map((c) => c.global_batch_size).filter((size) => size !== undefined);
    return draw("error", traces, layout(colors, {
      xaxis: tickAxis(sizes, "global batch size", colors), yaxis: valueAxis("top-1 error [%]", scale, colors),
    }), "");
  }

  function drawPhases(colors) {
    const drawn = configurations.filter((c) => c.phases !== undefined);
    if (drawn.length === 0) return drawNothing("phases", "No run recorded phases.");
    const names = [...new Set(drawn.flatMap((c) => Object.keys(c.phases)))];
    const rank = (name) => (PHASE_ORDER.indexOf(name) + PHASE_ORDER.length + 1) % (PHASE_ORDER.length + 1);
    names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
    const traces = names.map((name, index) => {
      const shares = drawn.map((c) => (c.phases[name] && c.phases[name].share ? 100 * c.phases[name].share.mean : 0));
      return {
        type: "bar", orientation: "h", isData: true, name: literal(name.replace(/_/g, " ")), x: shares,
        y: drawn.map((c, position) => position), showlegend: true,
        marker: { color: colors.series[index % colors.series.length], line: { color: colors.surface, width: 1 } },
        text: shares.map((share) => (share >= 7 ? share.toFixed(0) : "")), textposition: "inside",
        insidetextanchor: "middle", textangle: 0, constraintext: "none",
        hovertext: drawn.map((c, i) => `<b>${literal(name)}</b>: ${digits(shares[i], 3)} %<br>${describe(c)}`), hoverinfo: "text",
      };
    });
    return draw("phases", traces, layout(colors, {
      barmode: "stack", height: Math.max(380, 120 + 44 * drawn.length), bargap: 0.3,
      xaxis: { ...axis("share of the time of all phases [%]", colors), range: [0, 100] },
      yaxis: {
        ...axis("", colors), autorange: "reversed", ticks: "",
        tickvals: drawn.map((c, position) => position), ticktext: drawn.map((c) => describe(c).replace(", ", "<br>")),
      },
    }), "Mean over the runs of a configuration.");
  }

  function drawAll() {
    const colors = theme();
    return Promise.all([
      drawOverDevices("energy", "energy_kwh", `energy${energyLabel} [kWh]`, colors),
      drawOverDevices("runtime", "runtime_s", "runtime [s]", colors),
      drawFit(colors), drawError(colors), drawPhases(colors),
    ]).then(() => { document.documentElement.dataset.plots = "drawn"; });
  }

  drawAll();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
