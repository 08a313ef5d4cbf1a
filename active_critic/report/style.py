"""How a page looks: on a wide screen, on a phone and on paper, light and dark."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; font: 93.75%/1.5 system-ui, sans-serif; }
:root { --dim: #595959; --red: #b22; --green: #176b43; --yellow: #8a5a00; --line: #8884; --shade: #8887; }
@media screen and (prefers-color-scheme: dark) {
  :root { --dim: #a8a8a8; --red: #f77; --green: #4c9; --yellow: #da4; }
  svg { filter: invert(1) hue-rotate(180deg); }
}
body { max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: CanvasText; background: Canvas; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h1, h2, p, li, th, tr div { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
p, ul { margin: .3rem 0; max-width: 60rem; } ul { padding-left: 1.2rem; } li { margin: .2rem 0; }
table { border-collapse: separate; border-spacing: 0; margin: .5rem 0; font-variant-numeric: tabular-nums; }
th, td { text-align: start; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; } tbody th { font-weight: inherit; }
tr div { min-width: 9rem; } tr .short { min-width: 0; white-space: pre; }
.right { text-align: right; } .bold { font-weight: 600; }
.dim { color: var(--dim); } .red { color: var(--red); }
.green { color: var(--green); } .yellow { color: var(--yellow); }
th[data-sort] { overflow-wrap: normal; }
th button { font: inherit; color: inherit; text-align: inherit; white-space: inherit; }
th button { background: none; border: 0; padding: 0; cursor: pointer; }
th button::after { content: "\\00a0↕"; } [aria-sort=ascending] button::after { content: "\\00a0↑"; }
[aria-sort=descending] button::after { content: "\\00a0↓"; }
footer { margin: 2.5rem 0 1rem; color: var(--dim); } figure { margin: 0; }
svg { display: block; min-width: 40rem; max-width: 100%; height: auto; background: #fff; }
/* What is wider or longer than its place scrolls by itself, with a shade where there is more. */
.wide { overflow-x: auto; background: linear-gradient(Canvas, Canvas) 100% 0 / 1rem 100% no-repeat local,
  linear-gradient(to left, var(--shade), transparent) 100% 0 / .6rem 100% no-repeat scroll; }
.wide tr > :first-child { position: sticky; left: 0; background: Canvas; }
.long { max-height: 20rem; overflow-y: auto; background:
  linear-gradient(Canvas, Canvas) 0 100% / 100% 1.5rem no-repeat local,
  linear-gradient(to top, var(--shade), transparent) 0 100% / 100% .8rem no-repeat scroll; }
.texts { width: 100%; } .texts .prose div:not(.short) { min-width: 12rem; }
.texts thead th { position: sticky; top: 0; z-index: 1; background: Canvas; }
/* Of many texts only those near are laid out: all of them would take seconds, at every sorting anew. */
@media screen {
  .many .prose > div { content-visibility: auto; contain-intrinsic-height: auto 8rem; }
  .many .prose > .short { content-visibility: visible; }
  .many .prose > .long { contain-intrinsic-height: auto 20rem; }
}
@media (max-width: 60rem) {
  .wide th, .wide td { padding-right: .5rem; } .wide tr div:not(.short) { min-width: 7rem; }
}
@media print, (max-width: 56rem) {
  .texts .prose div:not(.short) { min-width: 0; }
  tr > :first-child div { width: max-content; max-width: min(13rem, 40vw); white-space: pre-wrap; }
  .cards, .cards tbody { display: block; } .cards thead { display: none; }
  .cards tr { display: flex; flex-wrap: wrap; gap: .3rem 1.5rem; padding: .6rem 0; }
  .cards tr { border-bottom: 1px solid var(--line); }
  .cards th, .cards td { padding: 0; border: 0; text-align: start; } .cards .prose { flex: 1 1 100%; }
  .cards tbody th { font-weight: 600; } .cards tr div { width: auto; max-width: none; }
  .cards [data-head]::before { content: attr(data-head); color: var(--dim); font: .85rem/1.3 system-ui, sans-serif; }
  .wide tr > :first-child div:not(.short) { min-width: 0; }
}
@media screen and (max-width: 56rem) { /* of the headings, those to sort by stay */
  .sorts thead, .sorts thead tr { display: flex; gap: 1.5rem; border: 0; }
  .sorts thead :is(th, td):not([aria-sort]) { display: none; }
  .sorts thead { position: sticky; top: 0; z-index: 1; background: Canvas; } .sorts button { padding: .6rem 0; }
}
@media print, (min-width: 34rem) and (max-width: 56rem) {
  .cards .prose { flex-basis: 18rem; order: 2; } /* two texts side by side, below all else */
  .cards tbody tr::after { content: ""; flex: 1 1 100%; order: 1; }
}
@media print {
  th button::after { content: none; }
  :root { color-scheme: light; font: 9pt/1.35 system-ui, sans-serif; } body { max-width: none; margin: 0; padding: 0; }
  .wide { overflow-x: visible; background: none; } .long { max-height: none; background: none; } svg { min-width: 0; }
  h1, h2 { break-after: avoid; } tr, li, figure { break-inside: avoid; } tr:has(.long) { break-inside: auto; }
}
"""
"""Of the classes, ``wide`` is what scrolls sideways, ``texts`` a table of texts to be read, ``prose`` its columns of
those, ``cards`` one whose rows are stacked where there is no room for columns, ``many`` one of many rows, and
``long`` a text that scrolls."""
