// One run: the verdict, its curves, why, what to do, and everything else folded below.
const KINDS = { severe: "severe", warning: "warning", note: "note", change: "setting changed", guard: "guard went back",
  checkpoint: "checkpoint", fork: "fork" };

function Shape({ kind, x, y, label }) {
  const named = { role: "img", "aria-label": label, tabindex: label ? 0 : undefined };
  const title = label ? html`<title>${label}</title>` : null;
  if (kind === "severe") return html`<g ...${named} class=${kind}>${title}<path d=${`M${x} ${y - 6}l6 6l-6 6l-6-6z`} /></g>`;
  if (kind === "warning") return html`<g ...${named} class=${kind}>${title}<path d=${`M${x} ${y - 6}l6 11h-12z`} /></g>`;
  if (kind === "change") return html`<g ...${named} class=${kind}>${title}<rect x=${x - 5} y=${y - 5} width="10" height="10" /></g>`;
  if (kind === "checkpoint") return html`<g ...${named}>${title}<line class=${kind} x1=${x} x2=${x} y1=${y - 5} y2=${y + 5} /></g>`;
  if (kind === "guard") return html`<g ...${named}>${title}<path class=${kind} d=${`M${x + 5} ${y - 6}l-7 6l7 6`} /></g>`;
  if (kind === "fork") return html`<g ...${named} class=${kind}>${title}<path d=${`M${x - 5} ${y - 6}h10l-5 12z`} /></g>`;
  return html`<g ...${named} class="note">${title}<circle cx=${x} cy=${y} r="4" /></g>`;
}

function Lane({ run, range }) {
  const place = useRef(null), [width, setWidth] = useState(800);
  useEffect(() => {
    const watcher = new ResizeObserver(() => place.current && setWidth(place.current.clientWidth || 800));
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, []);
  const [from, to] = range || bounds(run);
  const at = (taken) => LEFT + (taken - from) / (to - from || 1) * (width - LEFT - RIGHT);
  const shown = run.marks.filter((mark) => mark.taken >= from && mark.taken <= to);
  const high = (kind) => ["checkpoint", "change", "fork", "note"].includes(kind) ? 33 : 14;
  return html`<svg class="lane" ref=${place} role="group" aria-label="what happened along the run">
      <line class="rail" x1=${LEFT} x2=${width - RIGHT} y1="14" y2="14" /><line class="rail" x1=${LEFT} x2=${width - RIGHT} y1="33" y2="33" />
      ${shown.filter((mark) => mark.since !== null && mark.since !== undefined).map((mark) => html`<line class="guard" x1=${at(mark.taken)} x2=${at(Math.min(to, mark.since))} y1="14" y2="14" />`)}
      ${shown.map((mark) => html`<${Shape} kind=${mark.kind} x=${at(mark.taken)} y=${high(mark.kind)} label=${`${counted(mark.taken)}: ${mark.text}`} />`)}
    </svg>
    <div class="keys">${Object.keys(KINDS).filter((kind) => shown.some((mark) => mark.kind === kind)).map((kind) => html`<span><svg aria-hidden="true"><${Shape} kind=${kind} x=${6} y=${6} /></svg>${KINDS[kind]}</span>`)}</div>`;
}

const bounds = (run) => [0, Math.max(1, run.taken)];

function Verdict({ page }) {
  const [first, ...rest] = page.told;
  return html`<section class="verdict ${page.tone}" aria-label=${"verdict on " + (page.name || page.title)}>
    <p class="first">${page.headline && (first.toLowerCase().startsWith(page.headline.toLowerCase())
      ? html`<span class="mark" aria-hidden="true">${MARKS[page.tone]}</span>` : html`<${Pill} tone=${page.tone}>${page.headline}<//>`)} ${first}</p>
    ${rest.map((text) => { const [, lead, more] = /^([A-Z][^:.]{1,44}:) (.*)$/s.exec(text) || [null, "", text]; return html`<p>${lead && html`<b>${lead}</b> `}${more}</p>`; })}
    ${page.command && html`<div class="command"><code tabindex="0">${page.command}</code><${Copy} text=${page.command} /><span class="soft small">${page.command_does}</span></div>`}
    ${page.facts && html`<dl class="facts">${page.facts.map(([name, text]) => html`<div><dt>${name}</dt><dd>${text}</dd></div>`)}</dl>`}
  </section>`;
}

const CALLED = { "eval.return_mean": "Return of evaluations", "rollout.return_mean": "Return of training episodes",
  "eval.discounted_mean": "Discounted return", "eval.length_mean": "Episode length", "rollout.length_mean": "Episode length while training",
  "language.length_mean": "Length of completions", "language.accuracy": "Answers right",
  "bc.full_mse": "Squared error on all recordings", "bc.full_nll": "Likelihood loss on all recordings", "bc.validation_mse": "Squared error on held-out recordings" };

function specOf(run, name, more) {
  const branches = (run.abandoned || []).filter((one) => one[name]).map((one) => ({ ...one[name], name: "left", dim: true, color: css("--soft") }));
  return { series: [{ ...run.curves[name], name: run.name, color: branches.length ? css("--accent") : undefined }, ...branches], band: run.bands[name], ...more };
}

const SAFETY = { automatic: "the guard may apply it by itself", "on request": "never applied by itself; rescue tries it", advice: "advice: nothing that a setting changes" };
const objectors = (run, name) => run.bands[name].rules.map((id) => (run.rule_names[id] || id).replaceAll("-", " ")).join(" or ");

function Main({ run }) {
  const address = useAddress();
  const panels = useMemo(() => run.main.map((names) => {
    const banded = names.find((name) => run.bands[name]);
    const series = names.map((name, index) => ({ ...run.curves[name], name, thin: index > 0, color: css(index ? "--soft" : "--accent") }));
    const left = (run.abandoned || []).flatMap((one) => names.filter((name) => one[name]).map((name) => ({ ...one[name], name: "left: " + name, dim: true, color: css("--bad") })));
    const about = [names.length > 1 ? `${names[0]}, thin: ${names.slice(1).join(", ")}` : CALLED[names[0]] ? names[0] : "",
      names.includes(run.judged_by) ? "judged by this" : "", banded ? `red zone: where ${objectors(run, banded)} objects to ${banded}` : ""];
    return { title: CALLED[names[0]] || names[0], about: about.filter(Boolean).join(" · "),
      spec: { series: [...series, ...left], band: banded && run.bands[banded], sync: "main", onset: run.onset, table: true, whole: bounds(run) } };
  }), [run]);
  return html`<section class="card stack" aria-label=${"return and length of " + run.name}>
    ${panels.map((panel) => html`<${Chart} key=${panel.title} spec=${panel.spec} height=${panels.length > 2 ? 132 : 165} title=${panel.title} about=${panel.about} />`)}
    ${run.marks.length > 0 && html`<${Lane} run=${run} range=${address.x} />`}
    <div class="keys soft"><span>x: ${run.unit.many}</span>${run.abandoned.length > 0 && html`<span>dashed: a branch the guard left</span>`}</div>
    ${address.x && html`<button type="button" onClick=${() => State.write({ x: null })}>show the whole run</button>`}
  </section>`;
}

function Evidence({ run, cause }) {
  const whole = bounds(run), width = (whole[1] - whole[0]) * 0.22;
  const around = (at) => [Math.max(whole[0], at - width), Math.min(whole[1], at + width)];
  return cause.evidence.map((piece) => {
    const signal = piece.signal && run.curves[piece.signal] ? run.signals.find((one) => one.name === piece.signal) : null;
    const at = signal && signal.left !== null ? signal.left : cause.onset;
    return html`<div class="piece"><p><span class="side ${piece.speaks_for ? "for" : "against"}">${piece.speaks_for ? "✓ for" : "✗ against"}</span>${piece.text}</p>
      ${signal ? html`<${Zoomed} run=${run} name=${piece.signal} at=${at} zoom=${around(at)} />` : html`<p class="soft small">told by settings or a probe, not by a curve</p>`}</div>`;
  });
}

function Zoomed({ run, name, at, zoom }) {
  const spec = useMemo(() => ({ ...specOf(run, name), zoom, onset: at, fixed: true }), [run, name, at]);
  return html`<${Chart} spec=${spec} height=${96} title=${name} about=${`around ${run.unit.one} ${counted(at)}`} />`;
}

function Remedies({ cause }) {
  return cause.remedies.map((remedy) => html`<div style=${{ marginTop: "8px" }}>
    <b><${Rule} id=${remedy.id} name=${remedy.name} /></b> <span class="soft small">${SAFETY[remedy.safety] || remedy.safety}</span>
    <p class="small">${remedy.effect}</p>
    ${remedy.changes.length > 0 ? html`<div class="scroll"><table class="change"><thead><tr><th>setting</th><th>now</th><th>after</th></tr></thead><tbody>
      ${remedy.changes.map((one) => html`<tr><td>${one.name}</td><td class="before">${String(one.before)}</td><td class="after">${String(one.after)}</td></tr>`)}
    </tbody></table></div>` : remedy.said ? html`<p class="mono">${remedy.said}</p>` : null}</div>`);
}

function Causes({ run, causes, title }) {
  if (!causes.length) return null;
  const [first, ...others] = causes;
  const shown = (cause) => html`<div class="card">
    <h3><${Rule} id=${cause.id} name=${cause.name} /> <span class="meter" role="img" aria-label=${`confidence ${cause.confidence.toFixed(2)}`}><i style=${{ width: cause.confidence * 100 + "%" }}></i></span>
      <span class="soft">${cause.likelihood}, ${cause.confidence.toFixed(2)}</span></h3>
    <p>${cause.explanation}</p><${Evidence} run=${run} cause=${cause} />
    ${cause.would_decide && html`<p class="small soft">This would decide: ${cause.would_decide}</p>`}
    <${Remedies} cause=${cause} /></div>`;
  return html`${title && html`<h2>${title}</h2>`}${shown(first)}
    ${others.length > 0 && html`<${Fold} title=${plural(others.length, "other possible cause")}>${others.map((cause) => html`<div style=${{ marginTop: "10px" }}>${shown(cause)}</div>`)}<//>`}`;
}

function Fold({ title, about, children, open }) {
  const [shown, show] = useState(Boolean(open));  // what is folded is not even made
  return html`<details open=${shown} onToggle=${(event) => show(event.target.open)}><summary>${title} ${about && html`<span class="soft">${about}</span>`}</summary>${shown && children}</details>`;
}

function SignalCard({ run, signal }) {
  if (!run.curves[signal.name]) return html`<div class="card"><b>${signal.name}</b> <span class="soft">reading ...</span></div>`;
  return html`<${SignalChart} run=${run} signal=${signal} />`;
}

function SignalChart({ run, signal }) {
  const spec = useMemo(() => ({ ...specOf(run, signal.name), onset: signal.left, sync: "signals", table: true }), [run, signal.name]);
  const left = signal.left !== null ? `left its band at ${counted(signal.left)} · ${[...new Set(signal.rules)].join(", ")}` : "";
  return html`<div class="card"><${Chart} spec=${spec} height=${118} title=${signal.name} about=${left}>
    <p class="small soft">${signal.meaning}${signal.unit ? ` [${signal.unit}]` : ""}</p><//></div>`;
}

function Signals({ run }) {
  const left = run.signals.filter((one) => one.left !== null), quiet = run.signals.filter((one) => one.left === null);
  return html`${left.length > 0 && html`<h2 id="signals">Signals, in the order in which they left their band</h2>
      <div class="cards">${left.map((one) => html`<${SignalCard} key=${one.name} run=${run} signal=${one} />`)}</div>`}
    ${quiet.length > 0 && html`<${Fold} title=${left.length ? plural(quiet.length, "signal") + " that nothing is said of" : plural(quiet.length, "signal")} about="click to draw them">
      <div class="cards">${quiet.map((one) => html`<${SignalCard} key=${one.name} run=${run} signal=${one} />`)}</div><//>`}`;
}

function Findings({ run, concerns, title }) {
  const found = run.findings.filter((one) => one.concerns === concerns);
  if (!found.length) return null;
  const row = (one) => html`<tr><td class="number nowrap">${counted(one.taken)}</td><td><${Pill} tone=${one.severity}>${one.severity}<//></td>
    <td class="nowrap"><${Rule} id=${one.rule} name=${one.name} />${one.stands ? "" : " (passed)"}</td><td>${one.message}<div class="soft small">${one.why}</div></td></tr>`;
  return html`<h2>${title}</h2><div class="scroll" tabindex="0"><table class="wide findings"><thead><tr><th class="nowrap">${run.unit.one}</th><th>severity</th><th>rule</th><th>what it saw</th></tr></thead><tbody>${found.map(row)}</tbody></table></div>`;
}

function Rest({ run }) {
  const apart = run.settings.filter((one) => one.in_preset !== null || one.at_first !== null);
  const unmeasured = run.unmeasured.flatMap(([, names]) => names);
  const setting = (one) => html`<tr><td data-label="setting">${one.name}</td><td data-label="in this run">${one.value}</td><td data-label=${run.compared_with || "preset"}>${one.in_preset ?? ""}</td><td data-label="at first">${one.at_first ?? ""}</td></tr>`;
  const settings = (rows) => html`<div class="scroll" tabindex="0"><table class="change many"><thead><tr><th>setting</th><th>in this run</th><th>${run.compared_with || "preset"}</th><th>at first</th></tr></thead><tbody>${rows.map(setting)}</tbody></table></div>`;
  return html`
    ${run.undecided.length > 0 && run.onset !== null && html`<${Fold} title="The cause is not known; this would decide" about=${plural(run.undecided.length, "way")} open=${run.undecided.length < 7}><ul>${run.undecided.map((text) => html`<li>${text}</li>`)}</ul><//>`}
    <${Findings} run=${run} concerns="machine" title="The machine, not the training" />
    ${run.machine_causes.map((cause) => html`<p class="small">${cause.id} ${cause.name.replaceAll("-", " ")}: ${cause.evidence.map((piece) => piece.text).join("; ")}</p>`)}
    ${run.notes.length > 0 && html`<h2>About the record</h2><ul>${run.notes.map((text) => html`<li>${text}</li>`)}</ul>`}
    ${apart.length > 0 ? html`<h2>Settings apart from ${run.compared_with || "the start"}</h2>${settings(apart)}` : null}
    <${Fold} title="All settings" about=${plural(run.settings.length, "setting")}>${settings(run.settings)}<//>
    ${run.checklist.length > 0 && html`<${Fold} title="Checklist" about=${`${run.checklist.filter((line) => line[1] === "passed").length} passed, ${run.checklist.filter((line) => line[1] === "failed").length} failed`}>
      <${Table} block=${{ head: ["phase", "answer", "item", "seen"], rows: run.checklist }} /><//>`}
    ${unmeasured.length > 0 && html`<${Fold} title="Not measured" about=${plural(unmeasured.length, "signal")}>
      ${run.unmeasured.map(([how, names]) => html`<p class="small">${how && html`<b>${how}</b> gives `}<span class="mono">${names.join(", ")}</span></p>`)}<//>`}
    ${run.events.length > 0 && html`<${Fold} title="What happened" about=${plural(run.events.length, "event")}>
      <${Table} block=${{ head: ["Step", run.unit.one, "what"], rows: run.events.map((one) => [one.step, one.taken === null ? "" : counted(one.taken), one.text]) }} /><//>`}
    ${run.made_with.map((text) => html`<p class="small soft made">Recorded with ${text}.</p>`)}`;
}

function Run({ run }) {
  const stands = run.onset !== null;  // something is wrong now
  return html`<${Verdict} page=${run} /><${Main} run=${run} />
    ${stands && html`<${Causes} run=${run} causes=${run.causes} title="Why" />`}
    <${Findings} run=${run} concerns="training" title="What was found" />
    ${!stands && run.causes.length > 0 && html`<${Fold} title="What may have been behind it" about="it has passed"><${Causes} run=${run} causes=${run.causes} /><//>`}
    <${Signals} run=${run} /><${Rest} run=${run} />`;
}
