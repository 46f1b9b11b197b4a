"""How a report looks in a browser."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--paper:#fbfbfa;--card:#fff;--ink:#1c1d1f;--dim:#61656b;--rule:#e4e5e3;
--c1:#2f6fd0;--c2:#7a55c7;--c3:#1b8a6b;--c4:#c8502c;--c5:#b4b8bd;--ok:#1b7a4b;--bad:#b3361b}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--card:#1d2024;--ink:#e8e9ea;--dim:#9da3ab;--rule:#30343a;
--c1:#6ba0f2;--c2:#ad8ff0;--c3:#45b994;--c4:#ee8560;--c5:#5a616a;--ok:#5cc58f;--bad:#ff8e73}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1180px;margin:0 auto;padding:28px 20px 60px}
header p,footer,figure p,.more,.about,small{color:var(--dim)}
h1{font-size:26px;margin:0 0 2px}
header p{margin:0 0 20px;overflow-wrap:anywhere}
h2{font-size:17px;margin:34px 0 8px}
h3{font-size:15px;margin:0}
figure{margin:0;padding:14px 14px 8px;background:var(--card);border:1px solid var(--rule);border-radius:8px}
figure p{margin:0 0 6px;font-size:13px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(165px,1fr));gap:12px}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:12px 14px}
.tile span{display:block;font-size:13px;color:var(--dim)}
.tile b{display:block;font-size:26px;font-weight:600;line-height:1.2}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:14px;margin-top:34px}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;font-weight:500;color:var(--dim);font-size:13px;white-space:nowrap}
td,th{padding:5px 16px 5px 0;border-bottom:1px solid var(--rule);vertical-align:top}
.n{text-align:right;white-space:nowrap}
.text{overflow-wrap:anywhere;min-width:220px}
.about{min-width:230px}
code{font:13px ui-monospace,monospace}
details{margin-top:34px}
summary{cursor:pointer;font-weight:600}
.mark{white-space:nowrap;font-weight:600}
.ok{color:var(--ok)}
.bad{color:var(--bad)}
.plot{display:block;width:100%;height:auto}
.spark{width:120px;height:22px;display:block}
.tick{font-size:11px;fill:var(--dim)}
.grid .base,.base{stroke:var(--dim);stroke-width:1}
line.grid{stroke:var(--rule);stroke-width:1}
.c1{--c:var(--c1)}
.c2{--c:var(--c2)}
.c3{--c:var(--c3)}
.c4{--c:var(--c4)}
.c5{--c:var(--c5)}
.fill,.dot{fill:var(--c);background:var(--c)}
.stroke{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}
.area{fill:var(--c);opacity:.12}
.reach{fill:transparent}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--ink)}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.track{display:block;width:140px;height:9px;margin-top:6px;border-radius:4px;background:var(--rule)}
.track span{display:block;height:100%;border-radius:4px}
footer{margin-top:40px;font-size:13px}
.none,.kind{color:var(--dim)}
.kind{font-size:13px}
@media (max-width:640px){
.plot{overflow:visible;margin-bottom:10px}
.tick{font-size:19px}
.date{transform:translateY(10px)}
.other{display:none}
.text,.about{min-width:0}
th.drawn,td.drawn{display:none}
.stacked thead,.cards thead{display:none}
.stacked tr,.cards tr{display:flex;flex-wrap:wrap;gap:2px 14px;padding:7px 0;border-bottom:1px solid var(--rule)}
.stacked td,.cards td{padding:0;border:0}
.stacked .below,.cards .text,.cards .name{flex-basis:100%}
.lessons.stacked .text{flex:1;min-width:70%}
.cards .name{font-weight:600}
.cards .n::before{content:attr(data-name) " ";color:var(--dim)}
.cards td:empty{display:none}
}
"""
