// Turns every .slider, a list of pictures, into one picture and a slider that chooses it.
for (const slider of document.querySelectorAll(".slider")) {
  const pictures = [...slider.querySelectorAll("img")];
  const names = pictures.map((picture) => picture.alt.split(":")[0]);
  const range = Object.assign(document.createElement("input"), {
    type: "range", min: 0, max: pictures.length - 1, step: 1,
  });
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
