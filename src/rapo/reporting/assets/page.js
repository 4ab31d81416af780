"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const MARKERS = data.markers, DASHES = data.dashes;
  const ROOM = 420; // pixels that a panel needs to show the numbers of all curves at once

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const paper = () => document.documentElement.classList.contains("printing");
  const night = () => dark.matches && !paper();
  const colour = (look) => (night() ? look.dark : look.light);
  const faint = (hex, alpha) => {
    const n = parseInt(hex.slice(1), 16);
    return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${alpha})`;
  };
  const number = (x) =>
    x === null || x === undefined ? "-"
      : Math.abs(x) >= 100 ? Math.round(x).toLocaleString("en-GB")
      : String(Number(x.toPrecision(3)));
  // plotly reads names as a kind of HTML
  const plain = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const wrapped = (text, letters) => {
    const lines = [""];
    for (const word of text.split(" ")) {
      const last = lines.pop(), longer = last ? `${last} ${word}` : word;
      if (last && longer.length > letters) lines.push(last, word);
      else lines.push(longer);
    }
    return lines.map(plain).join("<br>");
  };
  const PLAIN = [
    ["#0072b2", "#5bb0f0"], ["#d55e00", "#ff8a4c"], ["#00805d", "#3fd0a5"], ["#b0578f", "#e79bc8"],
  ].map(([light, dark], i) => ({ light, dark, marker: i, dash: i }));
  const lookOf = (line, i, looks) => (line.label === null ? PLAIN[i % PLAIN.length] : looks[line.label]);

  function layout(panel, width) {
    const axis = {
      gridcolor: css("--grid"), linecolor: css("--line"), zeroline: false, fixedrange: true, automargin: true,
      ticks: "", title: { standoff: 8, font: { size: 12, color: css("--muted") } }, nticks: 6,
    };
    return {
      font: { family: css("--font"), size: 12, color: css("--ink") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 48, r: 10, t: 10, b: 44 }, showlegend: false, dragmode: false,
      hovermode: panel.kind !== "curves" || width < ROOM ? "closest" : "x unified", hoverdistance: 80,
      hoverlabel: {
        bgcolor: css("--card"), bordercolor: css("--line"), align: "left", namelength: -1,
        font: { family: css("--font"), size: 12, color: css("--ink") },
      },
      xaxis: { ...axis, title: { ...axis.title, text: plain(panel.x) }, showgrid: false },
      yaxis: { ...axis, title: { ...axis.title, text: plain(panel.y) } },
    };
  }

  function curves(panel, hidden, width, looks) {
    const traces = [], shape = layout(panel, width);
    panel.lines.forEach((line, i) => {
      const look = lookOf(line, i, looks), name = plain(line.label ?? line.name);
      const visible = !hidden.has(line.label);
      const known = (line.low ?? []).map((x, k) => k).filter((k) => line.low[k] !== null && line.high[k] !== null);
      if (known.length) {
        traces.push({
          type: "scatter", mode: "lines", meta: { label: line.label, band: true }, visible, hoverinfo: "skip", showlegend: false,
          x: [...known.map((k) => line.x[k]), ...known.slice().reverse().map((k) => line.x[k])],
          y: [...known.map((k) => line.high[k]), ...known.slice().reverse().map((k) => line.low[k])],
          fill: "toself", fillcolor: faint(colour(look), night() ? 0.2 : 0.14), line: { width: 0 },
        });
      }
      const text = line.y.map((y, k) => {
        const words = [number(y)];
        if (line.low && line.low[k] !== null) words[0] += ` (${number(line.low[k])} to ${number(line.high[k])})`;
        if (line.seeds) words.push(line.seeds[k] === 1 ? "1 seed" : `${line.seeds[k]} seeds`);
        if (line.diverged && line.diverged[k]) words.push(`${line.diverged[k]} diverged`);
        return words.join(width < ROOM ? "<br>" : ", ");
      });
      traces.push({
        type: "scatter", mode: look.points ?? (line.x.length <= 25 && line.label !== null) ? "lines+markers" : "lines",
        meta: { label: line.label }, visible, name, x: line.x, y: line.y, text,
        hovertemplate: width < ROOM ? `<b>${name}</b> at %{x}<br>%{text}<extra></extra>` : `<b>${name}</b> %{text}<extra></extra>`,
        line: { color: colour(look), width: 2, dash: DASHES[look.dash] },
        marker: { symbol: MARKERS[look.marker], size: 6, color: colour(look) },
      });
      if (line.crashed) traces.push({ type: "scatter", x: line.x.slice(-1), y: line.y.slice(-1), visible, ...crash(line, look) });
    });
    // bands lie below all lines
    traces.sort((a, b) => Number(!!b.meta.band) - Number(!!a.meta.band));
    shape.shapes = [];
    if (panel.shade) {
      shape.shapes.push({
        type: "rect", yref: "paper", x0: panel.shade[0], x1: panel.shade[1], y0: 0, y1: 1, layer: "below",
        fillcolor: css("--shade"), line: { width: 0 },
      });
    }
    if (panel.range) shape.yaxis.range = panel.range;
    if (panel.lines.length > 1 && panel.lines[0].label === null) {
      shape.showlegend = true;
      shape.legend = { orientation: "h", x: 0, y: 1, yanchor: "bottom", itemclick: false, itemdoubleclick: false };
    }
    if (panel.kind === "curves" && !panel.shade) shape.xaxis.rangemode = "tozero";
    const top = Math.max(...panel.lines.flatMap((line) => line.y.map((y) => Math.abs(y ?? 0))));
    shape.yaxis.tickformat = top < 1000 ? "" : "~s";
    shape.xaxis.hoverformat = panel.shade ? "" : ",.4~s";
    return [traces, shape];
  }

  const crash = (line, look) => ({
    mode: "markers", meta: { label: line.label }, hoverinfo: "skip", marker: { symbol: "x", size: 9, color: colour(look) },
  });

  function path(panel, hidden, width, looks) {
    const { xaxis, yaxis, ...shape } = layout(panel, width), small = { size: 11, color: css("--muted") };
    const traces = panel.lines.flatMap((line) => {
      const look = looks[line.label], name = plain(line.label), visible = !hidden.has(line.label);
      const end = ["x", "y", "z"].map((axis) => [axis, line[axis].slice(-1)]);
      return [
        {
          type: "scatter3d", mode: "lines", meta: { label: line.label }, visible, name, x: line.x, y: line.y, z: line.z,
          line: { color: colour(look), width: 4, dash: DASHES[look.dash] },
          hovertemplate: `<b>${name}</b><br>%{x}, %{y}, %{z} m<extra></extra>`,
        },
        ...(line.crashed ? [{ type: "scatter3d", visible, ...Object.fromEntries(end), ...crash(line, look) }] : []),
      ];
    });
    const side = (text) => ({
      title: { text: plain(text), font: small }, tickfont: small, gridcolor: css("--line"), linecolor: css("--line"),
      showbackground: false, showspikes: false, zeroline: false, nticks: 5,
    });
    shape.scene = {
      xaxis: side(panel.x), yaxis: side(panel.y), zaxis: side(panel.z), aspectmode: "data", dragmode: "turntable",
      camera: { eye: { x: 1.5, y: -2.1, z: 1.1 }, center: { x: 0, y: 0, z: -0.15 } },
    };
    shape.margin = { l: 0, r: 0, t: 0, b: 0 };
    return [traces, shape];
  }

  // a power law is a straight line where both axes are logarithmic
  function rate(panel, hidden, width, looks) {
    const [traces, shape] = curves(panel, hidden, width, looks);
    const axes = [[shape.xaxis, "x", width / 8], [shape.yaxis, "y", 34]]; // with letters that their titles have room for
    panel.lines.forEach((line, i) => {
      traces[i].text = line.x.map((x, k) => `${number(line.y[k])} at ${number(x)}`);
      traces[i].hovertemplate = `<b>${traces[i].name}</b><br>%{text}<extra></extra>`;
    });
    for (const [axis, name, letters] of axes) {
      const values = panel.lines.flatMap((line) => line[name]), decades = Math.log10(Math.max(...values) / Math.min(...values));
      Object.assign(axis, {
        type: "log", exponentformat: "power", showgrid: true, rangemode: "normal", tickformat: "",
        dtick: decades < 2 ? "D2" : Math.ceil(decades / 6), title: { ...axis.title, text: wrapped(panel[name], letters) },
      });
    }
    return [traces, shape];
  }

  function heatmap(panel, hidden, width) {
    const shape = layout(panel, width);
    const traces = [{
      type: "heatmap", x: panel.columns, y: panel.rows, z: panel.cells, colorscale: "Cividis", zsmooth: false,
      colorbar: { thickness: 9, outlinewidth: 0, tickfont: { size: 10, color: css("--muted") }, nticks: 5, len: 1, x: 1.01 },
      hovertemplate: `%{x:,} steps<br>${plain(panel.y)} %{y}<br>${plain(panel.unit)} %{z:.4~g}<extra></extra>`,
    }];
    if (panel.trace) {
      const line = { type: "scatter", mode: "lines", x: panel.columns, y: panel.trace };
      traces.push({ ...line, line: { color: "rgba(0,0,0,.65)", width: 5 }, hoverinfo: "skip" });
      traces.push({
        ...line, line: { color: "#ffffff", width: 2.2 }, meta: { trace: true },
        hovertemplate: `%{x:,} steps<br>${plain(panel.trace_name)} at %{y}<extra></extra>`,
      });
    }
    if (panel.shade) {
      shape.shapes = panel.shade.map((y) => ({
        type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: "rgba(255,255,255,.7)", width: 1, dash: "dot" },
      }));
    }
    shape.margin.r = 4;
    shape.yaxis.showgrid = false;
    return [traces, shape];
  }

  const SHAPES = {
    circle: "M13 0a5 5 0 1 0 .01 0Z", square: "M8.5 .5h9v9h-9Z", diamond: "M13 -1l6 6l-6 6l-6 -6Z",
    "triangle-up": "M13 -1l6 10h-12Z", "triangle-down": "M13 11l6 -10h-12Z",
  };

  function swatch(look) {
    const dashes = { solid: "", dash: "6 3", dot: "2 3", dashdot: "6 3 2 3", longdash: "10 3", longdashdot: "10 3 2 3" };
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("width", "26"); svg.setAttribute("height", "10"); svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(svg.namespaceURI, "line");
    for (const [k, v] of Object.entries({ x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour(look), "stroke-width": 3,
      "stroke-dasharray": dashes[DASHES[look.dash]] })) line.setAttribute(k, v);
    svg.append(line);
    if (look.points) {
      const marker = document.createElementNS(svg.namespaceURI, "path");
      marker.setAttribute("d", SHAPES[MARKERS[look.marker]] ?? SHAPES.circle);
      marker.setAttribute("fill", colour(look));
      svg.append(marker);
    }
    return svg;
  }

  class Chart {
    constructor(element) {
      this.element = element;
      this.figure = data.figures[element.dataset.figure];
      this.looks = this.figure.looks ?? data.looks;
      this.choice = Object.keys(this.figure.choices)[0];
      this.hidden = new Set(this.figure.hidden);
      this.panels = element.querySelector(".panels");
      this.drawn = false;
      this.makeChoice();
      this.makeLegend();
      this.makePanels();
    }

    makeChoice() {
      const names = Object.keys(this.figure.choices);
      if (names.length < 2 && names[0] === "") return;
      const label = document.createElement("label"), select = document.createElement("select");
      label.className = "choice";
      label.append("Show", select);
      for (const name of names) select.append(new Option(name, name));
      select.addEventListener("change", () => { this.choice = select.value; this.makePanels(); this.draw(); });
      this.panels.before(label);
    }

    makeLegend() {
      if (!this.figure.legend.length) return;
      const box = document.createElement("div");
      box.className = "legend";
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Curves shown");
      this.buttons = this.figure.legend.map((label) => {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.label = label;
        button.title = "Click to hide or show, double-click to show it alone";
        button.append(swatch(this.looks[label]), label);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(label)) this.hidden.add(label);
          this.update();
        });
        button.addEventListener("dblclick", () => {
          const others = this.figure.legend.filter((other) => other !== label);
          const alone = others.every((other) => this.hidden.has(other));
          this.hidden = new Set(alone ? [] : others);
          this.update();
        });
        box.append(button);
        return button;
      });
      this.panels.before(box);
      this.update();
    }

    makePanels() {
      for (const plot of this.panels.querySelectorAll(".plot")) Plotly.purge(plot);
      this.panels.replaceChildren(...this.figure.choices[this.choice].map((panel) => {
        const box = document.createElement("div"), title = document.createElement("h4"), plot = document.createElement("div");
        title.textContent = panel.title;
        plot.className = "plot";
        plot.setAttribute("role", "img");
        const of = (panel.lines ?? []).map((line) => line.label ?? line.name).join(", ");
        plot.setAttribute("aria-label", `${panel.title}: ${panel.y} over ${panel.x}${of ? ` of ${of}` : ""}`);
        box.append(...(panel.headed ? [] : [title]), plot); // some have their title on the page already
        return box;
      }));
    }

    draw() {
      this.drawn = true;
      [...this.panels.querySelectorAll(".plot")].forEach((plot, i) => {
        const panel = this.figure.choices[this.choice][i];
        const make = { heatmap, path, rate }[panel.kind] ?? curves;
        const [traces, shape] = make(panel, this.hidden, plot.clientWidth, this.looks);
        Plotly.react(plot, traces, shape, { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false });
      });
    }

    update() {
      for (const button of this.buttons) {
        button.setAttribute("aria-pressed", String(!this.hidden.has(button.dataset.label)));
      }
      if (!this.drawn) return;
      for (const plot of this.panels.querySelectorAll(".plot")) {
        const visible = plot.data.map((trace) => !this.hidden.has(trace.meta.label));
        Plotly.restyle(plot, { visible });
      }
    }

    repaint() {
      for (const button of this.buttons ?? []) {
        button.querySelector("svg").replaceWith(swatch(this.looks[button.dataset.label]));
      }
      if (this.drawn) this.draw();
    }
  }

  const charts = new Map([...document.querySelectorAll("figure[data-figure]")].map((element) => [element, new Chart(element)]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.get(entry.target);
      if (entry.isIntersecting && !chart.drawn) chart.draw();
    }
  }, { rootMargin: "600px" });
  for (const element of charts.keys()) seen.observe(element);
  dark.addEventListener("change", () => { for (const chart of charts.values()) chart.repaint(); });

  // what nobody has scrolled to is drawn when there is time, chart by chart, so that a picture of the page has it all
  const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
  const rest = () => {
    const next = [...charts.values()].find((chart) => !chart.drawn);
    if (next) { next.draw(); idle(rest); }
  };
  idle(rest);

  const print = (on) => {
    document.documentElement.classList.toggle("printing", on);
    for (const chart of charts.values()) { chart.makePanels(); chart.draw(); chart.repaint(); } // a plot keeps its width
  };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));

  const tables = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("cut", target.scrollWidth > target.clientWidth + 1);
  });
  for (const table of document.querySelectorAll(".scroll")) tables.observe(table);
})();
