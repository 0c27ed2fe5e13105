// Draws the charts that a page describes, in the page's own colours, light or dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function draw(place) {
  const { traces, layout } = JSON.parse(place.dataset.chart);
  const ink = colour("ink");
  const axis = { gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true };
  const coloured = traces.map(({ tone, ...trace }) => {
    if (!tone) return trace;
    const shade = colour(tone === "muted" ? "soft" : tone === "danger" ? "bad" : tone);
    return { ...trace, line: { width: 2, ...trace.line, color: shade }, marker: { size: 6, ...trace.marker, color: shade } };
  });
  place.replaceChildren();
  Plotly.newPlot(place, coloured, {
    margin: { l: 50, r: 15, t: 10, b: 45 }, height: 360,
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 13, color: ink },
    showlegend: false, legend: { orientation: "h", y: -0.24, yanchor: "top" },
    ...layout,
    xaxis: { ...axis, ...layout.xaxis }, yaxis: { ...axis, ...layout.yaxis },
  }, { displayModeBar: false, responsive: true });
}

const places = document.querySelectorAll("[data-chart]");
const all = () => places.forEach(draw);
all();
dark.addEventListener("change", all);
