// Style and script of the page (chart/page.hpp), without the colors of the theme.
#pragma once

namespace nereus::chart {

inline constexpr const char* kPageStyle = R"css(
*{box-sizing:border-box}
html{color-scheme:light dark}
body{margin:0;background:var(--paper);color:var(--ink);
  font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.page{max-width:58rem;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{font-size:1.75rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.3rem;line-height:1.3;margin:2.75rem 0 .75rem;padding-top:.5rem;
  border-top:1px solid var(--grid);overflow-wrap:anywhere}
p{max-width:46rem;margin:.6rem 0;overflow-wrap:anywhere}
.lead{font-size:1.1rem;color:var(--muted)}
a{color:var(--link)}
nav ol{margin:.25rem 0 0;padding-left:1.75rem}
nav p{margin:1.25rem 0 0;font-weight:600}
figure{margin:1.5rem 0}
.wide{overflow-x:auto}
.wide:focus-visible,th button:focus-visible{outline:2px solid var(--link);outline-offset:2px}
figure svg{display:block;max-width:max(100%,36rem);height:auto}
figcaption,caption{color:var(--muted);font-size:.9rem;text-align:left;padding:.4rem 0}
figcaption{padding-left:16px}
caption{caption-side:top;padding-left:.7rem}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .7rem;text-align:left;border-bottom:1px solid var(--grid);vertical-align:top}
th{border-bottom-color:var(--line);white-space:nowrap}
td.n{white-space:nowrap}
th.n,td.n{text-align:right}
tbody tr:hover{background:var(--grid)}
th button{all:unset;cursor:pointer;font-weight:600}
th button::after{content:"\2195";padding-left:.35em;opacity:.45}
th[aria-sort=ascending] button::after{content:"\2191";opacity:1}
th[aria-sort=descending] button::after{content:"\2193";opacity:1}
footer{margin-top:3rem;border-top:1px solid var(--grid);color:var(--muted);font-size:.9rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;margin:1rem 0}
dd{margin:0;overflow-wrap:anywhere}
code{font:.85rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media (max-width:40rem){.page{padding:1.25rem .9rem}h1{font-size:1.4rem}
  dl{grid-template-columns:1fr}dt{margin-top:.4rem}}
@media print{.page{max-width:none;padding:0}nav{display:none}th button::after{content:none}
  .wide{overflow:visible}figure,tr{break-inside:avoid}h2{break-after:avoid}
  figure svg{max-width:100%}}
)css";

// The first click sorts ascending, the next one descending. Numbers are in data-n; cells without a
// number stay last.
inline constexpr const char* kPageScript = R"js(
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    const numeric = head.classList.contains("n"), column = head.cellIndex;
    const key = row => {
      const cell = row.cells[column];
      if (cell.dataset.n !== undefined) return Number(cell.dataset.n);
      return numeric || cell.textContent === "" ? null : cell.textContent;
    };
    const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), "en", {numeric: true});
    const rows = Array.from(body.rows, row => [key(row), row]);
    rows.sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null)
      : down ? order(b, a) : order(a, b));
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows.map(([, row]) => row));
  });
}
)js";

}  // namespace nereus::chart
