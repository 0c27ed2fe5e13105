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

// An answer may take a while: say so, and ask once.
for (const form of document.querySelectorAll("form[data-wait]")) {
  form.addEventListener("submit", (event) => {
    const button = form.querySelector("button");
    if (button.getAttribute("aria-busy") === "true") { event.preventDefault(); return; }
    button.setAttribute("aria-busy", "true");
    button.textContent = "Asking…";
  });
}
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
  const send = async (file) => {
    if (!file) return;
    if (file.size > Number(area.dataset.most)) { said.textContent = "This file is too large."; return; }
    said.textContent = `Sending ${file.name} …`;
    const kind = /\.(parquet|pq)$/i.test(file.name) ? "parquet" : "csv";
    const headers = { "X-CSRF": form.elements.csrf.value };
    try {
      const reply = await fetch(`${area.dataset.upload}?kind=${kind}`, { method: "POST", headers, body: file });
      const found = await reply.json();
      if (!reply.ok) throw new Error(found.reason ?? found.error?.reason);
      const field = form.elements.file;
      if (field.tagName === "SELECT") field.add(new Option(found.file));
      field.value = found.file;
      said.textContent = `${file.name} is kept as ${found.file}, and chosen below.`;
    } catch (error) {
      said.textContent = `${file.name} was not kept. ${error.message ?? ""}`;
    }
  };
  area.hidden = false;
  chooser.addEventListener("change", () => send(chooser.files[0]));
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", (event) => { event.preventDefault(); send(event.dataTransfer.files[0]); });
}
