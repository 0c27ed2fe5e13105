// What a person with a keyboard or a screen reader meets: returns a list of faults, empty if none.
() => {
  const faults = [];
  const seen = (part) => [...part.getClientRects()].some((box) => box.right > -scrollX) && getComputedStyle(part).visibility !== "hidden";
  const all = (what) => [...document.querySelectorAll(what)].filter(seen);
  const named = (part) =>
    (part.getAttribute("aria-label") || "").trim() ||
    (part.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("").trim() ||
    [...(part.labels || [])].map((label) => label.textContent).join("").trim() ||
    (part.textContent || "").trim() || (part.getAttribute("title") || "").trim();
  const say = (fault, part) => faults.push(`${fault}: ${part.outerHTML.slice(0, 120)}`);

  if (!document.documentElement.lang) faults.push("the page has no language");
  if (!document.title.trim()) faults.push("the page has no title");
  if (all("main").length !== 1) faults.push("there is not one main part");
  if (all("h1").length !== 1) faults.push(`there are ${all("h1").length} first headings`);
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) say("a heading skips a level", heading);
    if (!heading.textContent.trim()) say("a heading is empty", heading);
    level = now;
  }
  for (const part of all("input:not([type=hidden]), select, textarea, button, a[href], summary")) if (!named(part)) say("it has no name", part);
  for (const part of all("img")) if (!part.hasAttribute("alt")) say("a picture has no words", part);
  for (const part of all("svg")) if (part.getAttribute("aria-hidden") !== "true" && !part.parentElement.closest("[aria-hidden=true], [role=img], .brand") && !named(part)) say("a picture has no words", part);
  for (const part of all("table")) if (!part.querySelector("th")) say("a table has no headings", part);
  for (const part of all("[role=region], section")) if (!named(part)) say("a region has no name", part);
  for (const part of document.querySelectorAll("[tabindex]")) if (Number(part.getAttribute("tabindex")) > 0) say("it jumps the order of focus", part);
  const ids = [...document.querySelectorAll("[id]")].map((part) => part.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) faults.push(`two parts are called ${id}`);

  const numbers = (colour) => { const found = colour.match(/[\d.]+/g).map(Number); return colour.startsWith("color(") ? [...found.slice(0, 3).map((one) => one * 255), found[3] ?? 1] : [...found.slice(0, 3), found[3] ?? 1]; };
  const light = ([red, green, blue]) => [red, green, blue].map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)).reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (part) => {
    for (let one = part; one; one = one.parentElement) { const colour = numbers(getComputedStyle(one).backgroundColor); if (colour[3] === 1) return colour; }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
  };
  for (const part of all("p, h1, h2, h3, li, td, th, dt, dd, a, summary, label, span, figcaption, blockquote, button, code, pre, caption, text")) {
    if (![...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) || part.closest(".sr")) continue;
    const style = getComputedStyle(part);
    const [one, two] = [light(numbers(part.tagName === "text" ? style.fill : style.color)), light(behind(part.closest("svg")?.parentElement || part))].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const contrast = (one + 0.05) / (two + 0.05);
    if (contrast < needed) say(`contrast ${contrast.toFixed(2)} of ${needed}`, part);
  }
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1) faults.push("the page is wider than the screen");
  return faults;
}
