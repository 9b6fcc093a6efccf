"use strict";
// Sorts a table by the column whose heading is pressed, and unfolds everything for paper.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
      const order = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true }) * (down ? -1 : 1);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...[...body.rows].sort(order));
    });
  });
}
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});
// A link into something folded unfolds it.
const unfold = () => {
  const aim = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = aim; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (aim) aim.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
