// What pages about several runs are made of.
function Table({ block }) {
  return html`${block.title && html`<h2>${block.title}</h2>`}${block.about && html`<p class="soft">${block.about}</p>`}
    <div class="scroll" tabindex="0"><table class="wide ${block.head.length > 3 ? "many" : ""}">${block.head.some(Boolean) && html`<thead><tr>${block.head.map((title) => title ? html`<th>${title}</th>` : html`<td></td>`)}</tr></thead>`}
    <tbody>${block.rows.map((row) => html`<tr>${row.map((cell, i) => html`<td data-label=${block.head[i] || null}>${cell}</td>`)}</tr>`)}</tbody></table></div>`;
}

function Dots({ branch, low, high }) {
  const at = (value) => `${2 + 96 * (value - low) / (high - low || 1)}%`;
  const known = branch.values.filter((value) => value !== null);
  if (!known.length) return html`<span class="soft small">not measured</span>`;
  return html`<svg role="img" aria-label=${known.map(number).join(", ")}><line class="rail" x1="2%" x2="98%" y1="11" y2="11" />
    ${known.length > 1 && html`<line class="range" x1=${at(Math.min(...known))} x2=${at(Math.max(...known))} y1="11" y2="11" />`}
    ${known.map((value) => html`<circle class="dot" cx=${at(value)} cy="11" r="5"><title>${number(value)}</title></circle>`)}</svg>`;
}

function Branch({ branch, low, high, measure }) {
  const known = branch.values.filter((value) => value !== null).sort((a, b) => a - b);
  const middle = known.length ? (known[(known.length - 1) >> 1] + known[known.length >> 1]) / 2 : null;
  const told = (value) => measure === "episode length" ? counted(Math.round(value)) : number(value);
  const said = middle === null ? "–" : known.length < 2 ? told(middle) : known[0] === known.at(-1) ? `${told(middle)}, every time` : `${told(middle)} (${told(known[0])} to ${told(known.at(-1))})`;
  const many = branch.values.length, state = many > 1 ? `${many - branch.healthy} of ${many} sick` : branch.healthy ? "nothing severe" : "still sick";
  return html`<li><div class="branch ${branch.kind}"><div><span class="name">${branch.name.replaceAll("-", " ")}</span> <span class="soft small">${branch.kind === "fix" ? "the fix, " : ""}${branch.why}</span>
      <div class="soft small">${[...new Set(branch.beside)].slice(0, 4).join(" · ")}</div></div>
    <${Dots} branch=${branch} low=${low} high=${high} />
    <div><b class="number">${said}</b> <span class="soft small">${measure}</span><div><${Pill} tone=${branch.helped ? "good" : branch.healthy === branch.values.length ? "unknown" : "bad"}>${branch.helped === null ? state : branch.helped ? "better, nothing severe" : "no better"}<//></div></div></div></li>`;
}

function Proof({ block }) {
  const all = [...block.tried, ...block.fresh].flatMap((branch) => branch.values).filter((value) => value !== null);
  const low = Math.min(...all, 0 < Math.min(...all) ? 0 : Infinity), high = Math.max(...all);
  const one = (branch) => html`<${Branch} branch=${branch} low=${low} high=${high} measure=${block.figures} />`;
  const control = block.tried.filter((branch) => branch.kind === "control"), tried = block.tried.filter((branch) => branch.kind !== "control");
  const order = ["fix", "remedy", "random", "placebo", "asked"];
  tried.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  return html`<h2>${block.measure === block.figures ? `The proof, in ${block.measure}` : "The proof"}</h2><p>${block.decided}</p><div class="card">
    <ul class="tree">${control.map(one)}<li><p class="soft small">tried against it, once each:</p><ul class="tree">${tried.map(one)}</ul></li>
    ${block.fresh.length > 0 && html`<li><p class="soft small">then from scratch, on fresh seeds:</p><ul class="tree">${block.fresh.map(one)}</ul></li>`}</ul></div>`;
}

function ChartsBlock({ block }) {
  // A run or config that one chart lacks keeps its colour in the others.
  const names = [...new Set(block.charts.flatMap((chart) => chart.series.length > 1 ? chart.series.map((one) => one.name) : []))];
  const colored = (chart) => !names.length ? chart : { ...chart, series: chart.series.map((one) => ({ ...one, color: COLORS[Math.max(0, names.indexOf(one.name)) % COLORS.length] })) };
  const drawn = useMemo(() => block.charts.map(colored), [block]);
  return html`${block.title && html`<h2>${block.title}</h2>`}
    ${names.length > 0 && html`<div class="legend">${names.map((name, index) => html`<span><i style=${{ background: COLORS[index % COLORS.length] }}></i>${name}</span>`)}</div>`}
    <div class="cards charts">${drawn.map((chart) => html`<div class="card"><${Plain} chart=${chart} /></div>`)}</div>`;
}

function Plain({ chart }) {
  const spec = useMemo(() => ({ series: chart.series, categories: chart.categories, fixed: chart.categories.length > 0, still: chart.x === "value" || chart.categories.length > 0, table: true }), [chart]);
  return html`<${Chart} spec=${spec} height=${190} title=${chart.title} about=${[chart.about, chart.x && `x: ${chart.x}`].filter(Boolean).join(" · ")} />`;
}

function Change({ block }) {
  return html`<h2>${block.title}</h2><div class="scroll"><table class="change"><thead><tr><th>setting</th><th>before</th><th>after</th></tr></thead>
    <tbody>${block.changes.map(([name, before, after]) => html`<tr><td>${name}</td><td class="before">${before}</td><td class="after">${after}</td></tr>`)}</tbody></table></div>`;
}

// Shares with their intervals, on one scale from none to all.
function Rates({ block }) {
  const at = (share) => `${100 * share}%`;
  const percent = (share) => `${Math.round(100 * share)} %`;
  return html`<h2>${block.title}</h2>${block.about && html`<p class="soft">${block.about}</p>`}<div class="card rates" role="list">
    ${block.rows.map((row, index) => [row, !index || block.rows[index - 1].name !== row.name]).map(([row, first]) => html`<div class="rate ${first ? "first" : ""}" role="listitem"><span>${first && row.name}</span><span class="soft">${row.of_what}</span>
      <svg aria-hidden="true"><line class="rail" x1="0" x2="100%" y1="8" y2="8" />${row.low !== null && html`<line class="range" x1=${at(row.low)} x2=${at(row.high)} y1="8" y2="8" />`}<circle class="dot" cx=${at(row.share)} cy="8" r="5" /></svg>
      <span class="number"><b>${percent(row.share)}</b> <span class="soft small">${row.low !== null && `${Math.round(100 * row.low)} to ${percent(row.high)} · `}${row.count} of ${row.of}</span></span></div>`)}</div>`;
}

function Block({ block }) {
  if (block.type === "table") return html`<${Table} block=${block} />`;
  if (block.type === "proof") return html`<${Proof} block=${block} />`;
  if (block.type === "charts") return html`<${ChartsBlock} block=${block} />`;
  if (block.type === "rules") return html`<h2>${block.title}</h2><ul>${block.rules.map(([id, name]) => html`<li><${Rule} id=${id} name=${name} /></li>`)}</ul>`;
  if (block.type === "rates") return html`<${Rates} block=${block} />`;
  if (block.type === "change") return html`<${Change} block=${block} />`;
  if (block.type === "code") return html`<${Fold} title=${block.title}><pre tabindex="0">${block.content}</pre><//>`;
  if (block.type === "items") return html`${block.title && html`<h2>${block.title}</h2>`}<ul>${block.lines.map((line) => html`<li>${line}</li>`)}</ul>`;
  return html`${block.title && html`<h2>${block.title}</h2>`}${block.paragraphs.map((text) => html`<p>${text}</p>`)}`;
}

// Several runs over each other: first return and length, then every signal, and each run folded.
const GROUP_COLORS = ["#d9480f", "#2b8a3e", "#8a94a0", "#2f6fd0", "#9c36b5"];

function Together({ runs, groups = [], decided = [] }) {
  const kinds = [...new Set(groups)];
  const palette = kinds.length && kinds.length <= GROUP_COLORS.length ? GROUP_COLORS : COLORS;
  const color = (index) => palette[(kinds.length ? kinds.indexOf(groups[index]) : index) % palette.length];
  const names = [...new Set(runs.flatMap((run) => run.signals.map((one) => one.name)))];
  const all = [...new Set(runs.flatMap((run) => run.main.flat()))];
  const main = [...decided.filter((name) => all.includes(name)), ...all.filter((name) => !decided.includes(name))];
  const card = (name, height) => {
    const series = runs.map((run, index) => run.curves[name] && { ...run.curves[name], name: run.name, color: color(index) }).filter(Boolean);
    const known = runs.flatMap((run) => run.signals).find((one) => one.name === name);
    return html`<div class="card" key=${name}><${Overlaid} series=${series} name=${name} height=${height} meaning=${known ? known.meaning : ""} decided=${name === decided[0]} /></div>`;
  };
  return html`<h2>${plural(runs.length, "run")}</h2>
    <div class="legend">${kinds.length ? kinds.map((kind, index) => html`<span><i style=${{ background: palette[index % palette.length] }}></i>${kind}</span>`)
      : runs.map((run, index) => html`<span><i style=${{ background: color(index) }}></i>${run.name}</span>`)}
      <span class="soft">x: ${[...new Set(runs.map((run) => run.unit.many))].join(" or ")}</span></div>
    <div class="cards">${main.map((name) => card(name, 190))}</div>
    <h2>Each run</h2>${[...runs].sort((a, b) => RANK[a.tone] - RANK[b.tone]).map((run) => html`<${Fold} key=${run.name} title=${html`<${Pill} tone=${run.tone}>${run.headline}<//> ${run.name}`} about=${run.told.find((text) => text.toLowerCase() !== run.headline + ".")}><${Run} run=${run} /><//>`)}
    <${Fold} title="All signals, over each other" about=${plural(names.length, "signal")}><div class="cards">${names.filter((name) => !main.includes(name)).map((name) => card(name, 130))}</div><//>`;
}

function Overlaid({ series, name, height, meaning, decided }) {
  const spec = useMemo(() => ({ series, sync: "together", table: true }), [series.length, name, ...series.map((one) => one.x)]);
  return html`<${Chart} spec=${spec} height=${height} title=${CALLED[name] || name} about=${[CALLED[name] ? name : "", decided ? "this decided" : ""].filter(Boolean).join(" · ")}><p class="small soft">${meaning}</p><//>`;
}
