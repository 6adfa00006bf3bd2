"""The style of the HTML report: on a screen, light or dark, narrow or wide, and on paper."""

STYLE = """
:root { --ink: #1b1f24; --soft: #57606a; --paper: #ffffff; --line: #d0d7de; --band: #f3f5f7; --link: #0550ae;
  --holds: #0b5d3b; --fails: #a40e26; --undecided: #7a4d00; --open: #57606a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e7ec; --soft: #a3adb8; --paper: #14181d; --line: #39424d;
  --band: #1f252c; --link: #7ab7ff; --holds: #5fd39a; --fails: #ff8a8f; --undecided: #f0b95a; --open: #a3adb8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue",
  Arial, "DejaVu Sans", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 1rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .75rem; padding-top: .9rem; border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
p, li { max-width: 48rem; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
li { margin: .25rem 0; }
a { color: var(--link); }
nav ul { list-style: none; padding: 0; columns: 16rem; column-gap: 1.5rem; }
nav li { break-inside: avoid; overflow-wrap: normal; margin: 0; padding: .12rem 0; }
code { font: .92em ui-monospace, "DejaVu Sans Mono", Menlo, monospace; background: var(--band); padding: .1em .35em;
  border-radius: 3px; overflow-wrap: anywhere; }
.frame { overflow-x: auto; margin: 1.25rem 0; }
.frame:focus-visible, a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font-size: .9rem; min-width: 50%; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; max-width: 48rem; }
th, td { padding: .3rem .7rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; border-bottom: 2px solid var(--line); }
tbody th { font-weight: 400; }
th[scope=rowgroup] { font-weight: 600; background: var(--band); padding: .4rem .5rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
thead .number { white-space: normal; }
.mark { font-weight: 600; white-space: nowrap; }
.mark.holds { color: var(--holds); } .mark.fails { color: var(--fails); }
.mark.undecided { color: var(--undecided); } .mark.no-material-difference, .mark.not-judged { color: var(--open); }
figure { margin: 1.5rem 0; }
/* Figures are drawn on white, in the dark as well. */
img { display: block; max-width: 100%; height: auto; background: #fff; padding: .5rem;
  border: 1px solid var(--line); border-radius: 4px; }
figcaption { color: var(--soft); font-size: .9rem; margin-top: .4rem; }
details { margin: 1.25rem 0; }
summary { cursor: pointer; font-weight: 600; }
details caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media (max-width: 40rem) { main { padding: 1rem .9rem 3rem; } h1 { font-size: 1.5rem; } table { font-size: .82rem; }
  th, td { padding-right: .55rem; } }
@media print {
  :root { --ink: #000; --soft: #444; --paper: #fff; --line: #bbb; --band: #eee; --link: #000; --holds: #0b5d3b;
    --fails: #a40e26; --undecided: #7a4d00; --open: #444; }
  body { font-size: 9.5pt; } main { max-width: none; padding: 0; } nav { display: none; }
  .frame { overflow: visible; } table { font-size: 8pt; } thead { display: table-header-group; }
  tr, figure { break-inside: avoid; } h2, h3, caption { break-after: avoid; }
  /* Paper cannot be unfolded. */
  details::details-content { content-visibility: visible; display: block; height: auto; }
}
"""
