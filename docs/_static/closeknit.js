// Turns every .slider, a list of pictures, into one picture and a slider that chooses it.
for (const slider of document.querySelectorAll(".slider")) {
  const pictures = [...slider.querySelectorAll("img")];
  const names = pictures.map((picture) => picture.alt.split(":")[0]);
  const range = Object.assign(document.createElement("input"), {
    type: "range", min: 0, max: pictures.length - 1, step: 1,
  });
  range.setAttribute("aria-label", "Which picture is shown");
  range.value = Math.floor(pictures.length / 2);
  const label = document.createElement("label");
  const shown = document.createElement("output");
  label.append(shown, range);
  slider.prepend(label);
  const show = () => {
    pictures.forEach((picture, i) => (picture.hidden = i !== Number(range.value)));
    shown.textContent = names[range.value];
    range.setAttribute("aria-valuetext", names[range.value]);
  };
  range.addEventListener("input", show);
  show();
}

// What the theme leaves to do for those who use a keyboard or a screen reader.
for (const button of document.querySelectorAll(".search-button__button")) {
  // Its text, where there is room for it, is its name; on narrow screens there is an icon alone.
  if (button.innerText.trim()) button.removeAttribute("aria-label");
  else button.setAttribute("aria-label", "Search");
}
for (const list of document.querySelectorAll('.citation-list[role="list"]')) {
  // docutils gives its items a deprecated role, which a list must not have.
  for (const item of list.querySelectorAll(".citation")) item.setAttribute("role", "listitem");
}
for (const summary of document.querySelectorAll("nav summary")) {
  const page = summary.closest("li")?.querySelector("a")?.textContent.trim();
  summary.setAttribute("aria-label", `Pages under ${page}`);
}
for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
  link.setAttribute("aria-label", link.textContent.trim());
}
for (const box of document.querySelectorAll(".bd-content table, .bd-content pre")) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
}
