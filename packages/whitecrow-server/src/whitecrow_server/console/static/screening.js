// Files of any length, screened in parts; without this script a page takes one part at a time.
const form = document.querySelector("form[data-screening]");
const place = document.getElementById("flags");
const SHOWN = 100;

function parted(text) {
  const [heading, ...rows] = text.split(/\r?\n/).filter((line) => line.trim());
  const parts = [], most = Number(form.dataset.most);
  for (let at = 0; at < rows.length; at += most) parts.push([heading, ...rows.slice(at, at + most)].join("\n"));
  return { heading, rows, parts };
}

async function screened(part) {
  const body = new URLSearchParams({ csrf: form.elements.csrf.value, question: form.elements.question.value, records: part, as: "csv" });
  const reply = await fetch(form.action.split("#")[0], { method: "POST", body });
  const text = await reply.text();
  if (reply.headers.get("content-type") === "application/octet-stream") return text.trim().split("\n").slice(1).map((line) => line.endsWith(",1"));
  const page = new DOMParser().parseFromString(text, "text/html");
  throw new Error(page.querySelector("#wrong, .note.bad, main p")?.textContent ?? "The page could not be screened.");
}

function listed(cells, tag) {
  const row = document.createElement("tr");
  for (const cell of cells) row.append(Object.assign(document.createElement(tag), { textContent: cell }));
  return row;
}

function shown(heading, rows, flags) {
  const anomalies = rows.map((row, at) => [at + 1, row]).filter(([number]) => flags[number - 1]);
  place.querySelector("h2").textContent = `${anomalies.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} would be anomalies (${(100 * anomalies.length / rows.length).toFixed(1)} %)`;
  place.querySelector("thead").replaceChildren(listed(["Record", heading], "th"));
  place.querySelector("tbody").replaceChildren(...anomalies.slice(0, SHOWN).map((one) => listed(one, "td")));
  place.querySelector("[data-more]").textContent = anomalies.length > SHOWN ? `The first ${SHOWN} of them.` : "";
  const csv = ["row,anomaly", ...flags.map((flag, at) => `${at + 1},${Number(flag)}`), ""].join("\n");
  const link = place.querySelector("[data-download]");
  link.href = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
  link.hidden = false;
}

async function all({ heading, rows, parts }) {
  const said = place.querySelector("[data-progress]"), flags = [];
  place.hidden = false;
  said.textContent = "Screening …";
  for (const part of parts) {
    flags.push(...await screened(part));
    said.textContent = `${flags.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} screened`;
  }
  shown(heading, rows, flags);
  place.focus();
}

form.addEventListener("submit", async (event) => {
  const found = parted(form.elements.records.value);
  if (found.parts.length < 2) return;  // one part: an ordinary form
  event.preventDefault();
  const said = place.querySelector("[data-progress]"), button = form.querySelector("button");
  if (found.rows.length > Number(form.dataset.longest)) {
    place.hidden = false;
    said.textContent = `There are ${found.rows.length.toLocaleString("en")} records; a page screens ${Number(form.dataset.longest).toLocaleString("en")} at the most. Use \`whitecrow screening ask\`.`;
    return;
  }
  try { await all(found); } catch (error) { said.textContent = error.message; }
  button.removeAttribute("aria-busy");
  button.textContent = "Screen";
});
