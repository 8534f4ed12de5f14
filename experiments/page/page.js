"use strict";
// Clicking a column's head sorts the table by that column; clicking again reverses the order.
const number = (text) => parseFloat(text.replace(/,/g, "").replace("−", "-"));
const compare = (a, b) => {
  const [x, y] = [number(a), number(b)];
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return Number.isNaN(x) || x === y ? a.localeCompare(b, "en", { numeric: true }) : x - y;
};
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const rising = head.getAttribute("aria-sort") !== "ascending";
    const body = head.closest("table").tBodies[0];
    const key = (row) => row.cells[head.cellIndex].innerText.trim().split("\n")[0];
    const rows = [...body.rows].sort((a, b) => (rising ? 1 : -1) * compare(key(a), key(b)));
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    body.append(...rows);
  });
}
