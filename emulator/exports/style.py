"""The style sheet of the page: light or dark as the reader's system is, narrow or wide, and on paper."""

STYLE = """\
:root {
  --ground: #ffffff; --card: #f4f6f9; --text: #1f2430; --dim: #5d6675; --rule: #d4d9e1; --wall: #e9ecf1;
  --busy: #2f7fb8; --trainer: #6a4fb3; --queue: #18806c; --stale: #b87400; --amber: #e09600; --alert: #c23b00;
  --g0: #cfe3f2; --g1: #9ecae1; --g2: #66a5d1; --g3: #2f7fb8; --weights: #3b4252; --gated: #a9b0bd;
  --acting: #8fccbe;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14161b; --card: #1d2027; --text: #d8dbe2; --dim: #98a0b0; --rule: #343945; --wall: #22262e;
    --busy: #66a5d1; --trainer: #b7a3e0; --queue: #6cc7b0; --stale: #f0a500; --amber: #f0a500;
    --alert: #ff7f3f; --g0: #24506f; --g1: #2f7fb8; --g2: #66a5d1; --g3: #9ecae1; --weights: #f5f5f5;
    --gated: #6a7182; --acting: #2f6f63;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 84rem; padding: 1rem; background: var(--ground); color: var(--text);
  font: 16px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
}
h1 { margin: 0; font-size: 1.7rem; }
h2 { margin: 1rem 0 .5rem; font-size: 1.25rem; }
header p { margin: .2rem 0; color: var(--dim); }
header .verdict { color: var(--text); font-weight: 600; font-size: 1.1rem; margin-top: .6rem; }
.alert, header .alert { color: var(--alert); font-weight: 600; overflow-wrap: anywhere; }
small { color: var(--dim); font-weight: 400; font-size: .82rem; }
main { display: grid; gap: 0 1.5rem; grid-template-columns: minmax(0, 1fr); }
main.race { grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
.lane { min-width: 0; }
dl {
  display: grid; gap: .5rem; margin: .6rem 0 1rem;
  grid-template-columns: repeat(auto-fit, minmax(8.6rem, 1fr));
}
dl div { background: var(--card); border-radius: .5rem; padding: .45rem .7rem; }
dt { color: var(--dim); font-size: .82rem; white-space: nowrap; }
dd { margin: 0; }
dd b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: .2rem; }
figure > svg { display: block; width: 100%; height: auto; }
.tick, .limit-word { font-size: 11.5px; fill: var(--dim); }
.middle { text-anchor: middle; }
.end, .limit-word { text-anchor: end; }
.limit-word { fill: var(--alert); }
.grid { stroke: var(--rule); fill: none; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.area { opacity: .18; stroke: none; }
.line.busy { stroke: var(--busy); } .area.busy { fill: var(--busy); }
.line.trainer { stroke: var(--trainer); } .area.trainer { fill: var(--trainer); }
.line.queue { stroke: var(--queue); } .area.queue { fill: var(--queue); }
.line.stale { stroke: var(--stale); } .area.stale { fill: var(--stale); }
.limit { stroke: var(--alert); stroke-dasharray: 5 3; fill: none; }
.mark { stroke: var(--amber); stroke-dasharray: 2 2; fill: none; stroke-width: 1.4; }
.bar { fill: var(--stale); } .bar.beyond { fill: var(--alert); }
.wall, .w-none { fill: var(--wall); }
.w-0 { fill: var(--g0); } .w-1 { fill: var(--g1); } .w-2 { fill: var(--g2); } .w-3 { fill: var(--g3); }
.w-straggler { fill: var(--amber); } .w-overhead, .w-frozen { fill: var(--weights); }
.w-acting { fill: var(--acting); } .w-gated { fill: var(--gated); }
.w-blocked, .w-down { fill: var(--alert); }
.w-down { opacity: .55; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem .9rem; margin: .2rem 0 0; color: var(--dim); }
.legend { font-size: .85rem; }
.legend svg { width: .8rem; height: .8rem; margin-right: .3rem; vertical-align: -.05rem; }
.injections { padding-left: 1.1rem; color: var(--dim); font-size: .9rem; }
pre {
  background: var(--card); border-radius: .5rem; padding: .8rem; overflow-x: auto;
  font: .82rem/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
footer { color: var(--dim); font-size: .82rem; margin-top: 1rem; }
@media print {
  :root {
    --ground: #fff; --card: #fff; --text: #000; --dim: #444; --rule: #bbb; --wall: #eee;
    --busy: #2f7fb8; --trainer: #6a4fb3; --queue: #18806c; --stale: #b87400; --amber: #e09600;
    --alert: #c23b00; --g0: #cfe3f2; --g1: #9ecae1; --g2: #66a5d1; --g3: #2f7fb8;
    --weights: #3b4252; --gated: #a9b0bd; --acting: #8fccbe;
  }
  body { max-width: none; padding: 0; font-size: 11px; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main.race, .plots { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  main.race .plots { grid-template-columns: minmax(0, 1fr); }
  dl div { border: 1px solid var(--rule); }
  figure, dl div { break-inside: avoid; }
  pre { white-space: pre-wrap; overflow: visible; border: 1px solid var(--rule); }
}
"""
