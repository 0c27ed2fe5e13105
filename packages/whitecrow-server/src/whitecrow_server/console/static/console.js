// Small comforts; every page works without them.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const words = button.textContent;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}

// After a form came back: what changed gets the focus, a mistake before all else.
const focus = document.getElementById("wrong") ?? document.querySelector("[data-focus]");
focus?.focus();

// Seconds until something happens, told once a second.
const counted = (seconds, tell) => {
  const end = performance.now() + 1000 * seconds;
  const step = () => {
    const left = Math.ceil((end - performance.now()) / 1000);
    tell(Math.max(0, left));
    if (left > 0) setTimeout(step, 1000);
  };
  step();
};
for (const place of document.querySelectorAll("[data-seconds]")) {
  counted(Number(place.dataset.seconds), (left) => { place.textContent = `${left} s`; });
}

// An answer may take a while: say so, and ask once.
for (const form of document.querySelectorAll("form[data-wait]")) {
  form.addEventListener("submit", (event) => {
    const button = form.querySelector("button"), said = form.querySelector("[data-countdown]");
    if (button.getAttribute("aria-busy") === "true") { event.preventDefault(); return; }
    button.setAttribute("aria-busy", "true");
    button.textContent = "Asking…";
    if (!form.dataset.deadline || form.elements.at_once?.checked) return;
    counted(Number(form.dataset.deadline), (left) => {
      said.textContent = left ? `The reply is due in ${left} s.` : "It takes longer: the reply leaves at the next moment.";
    });
  });
}

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}

// Of tabs that do not fit, the one that is open is in sight.
const open = document.querySelector(".tabs [aria-current]");
open?.parentElement.scrollTo({ left: open.offsetLeft - 40 });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// A file dropped on a form becomes the text of its field; nothing is sent before the button.
for (const form of document.querySelectorAll("form[data-drop]")) {
  const field = document.getElementById(form.dataset.drop);
  const chooser = form.querySelector("[data-drop-file]");
  const take = async (file) => { if (file) field.value = await file.text(); };
  form.querySelector("[data-drop-here]").hidden = false;
  chooser.addEventListener("change", () => take(chooser.files[0]));
  form.addEventListener("dragover", (event) => event.preventDefault());
  form.addEventListener("drop", (event) => { event.preventDefault(); take(event.dataTransfer.files[0]); });
}

// A data file goes to the service as it is; the reply says under which name it is kept there.
for (const area of document.querySelectorAll("[data-upload]")) {
  const form = area.closest("form"), chooser = area.querySelector("input"), said = area.querySelector("[role=status]");
  const bar = area.querySelector("progress"), buttons = form.querySelectorAll("button");
  const send = (file) => {
    if (!file) return;
    if (file.size > Number(area.dataset.most)) { said.textContent = "This file is too large."; return; }
    const size = `${(file.size / 1e6).toFixed(1)} MB`, request = new XMLHttpRequest();
    const sending = (busy) => { bar.hidden = !busy; for (const one of buttons) one.disabled = busy; };
    const failed = (why) => { sending(false); said.textContent = `${file.name} was not kept. ${why}`; };
    request.open("POST", `${area.dataset.upload}?kind=${/\.(parquet|pq)$/i.test(file.name) ? "parquet" : "csv"}`);
    request.setRequestHeader("X-CSRF", form.elements.csrf.value);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => {
      bar.value = event.loaded / event.total;
      said.textContent = `Sending ${file.name}: ${Math.floor(100 * bar.value)} % of ${size}`;
    });
    request.addEventListener("error", () => failed("The connection was lost."));
    request.addEventListener("load", () => {
      const found = request.response ?? {};
      if (request.status !== 200 || !found.file) { failed(found.reason ?? found.error?.reason ?? ""); return; }
      sending(false);
      const field = form.elements.file, name = form.elements.name;
      if (field.tagName === "SELECT") field.add(new Option(`${file.name} (sent)`, found.file));
      field.value = found.file;
      if (!name.value) name.value = file.name.replace(/\.[^.]*$/, "").replace(/[^\w.@-]+/g, "-").slice(0, 60);
      said.textContent = `${file.name} has arrived whole (${size}) and is chosen below.`;
    });
    said.textContent = `Sending ${file.name} …`;
    sending(true);
    request.send(file);
  };
  area.hidden = false;
  chooser.addEventListener("change", () => send(chooser.files[0]));
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", (event) => { event.preventDefault(); send(event.dataTransfer.files[0]); });
}
