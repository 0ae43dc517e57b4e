// The dashboard: all runs of a folder, one run as it is written, several over each other.
const ROW = matchMedia("(max-width: 720px)").matches ? 60 : 46;  // as in the styles

// One stream per page, closed while nobody looks; whatever is missed comes anew when it opens.
function useStream(address, handlers) {
  const [state, set] = useState("connecting");
  useEffect(() => {
    let source = null, again = 0;
    const open = () => {
      source = new EventSource(address);
      source.onopen = () => set("live");
      source.onerror = () => {
        set("lost, trying again");
        if (source.readyState === EventSource.CLOSED) again = setTimeout(open, 2000);  // a browser gives up where it was refused
      };
      for (const [kind, handle] of Object.entries(handlers)) source.addEventListener(kind, (message) => handle(JSON.parse(message.data)));
    };
    const look = () => {
      if (document.hidden && source) { clearTimeout(again); source.close(); source = null; set("paused"); } else if (!document.hidden && !source) open();
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => { document.removeEventListener("visibilitychange", look); clearTimeout(again); if (source) source.close(); };
  }, [address]);
  return state;
}

function Spark({ values }) {
  const known = (values || []).filter((value) => value !== null);
  if (known.length < 2) return html`<span></span>`;
  const low = Math.min(...known), high = Math.max(...known);
  const points = known.map((value, i) => `${(2 + 116 * i / (known.length - 1)).toFixed(1)},${(27 - 24 * (value - low) / (high - low || 1)).toFixed(1)}`);
  return html`<svg class="spark" viewBox="0 0 120 30" aria-hidden="true"><polyline points=${points.join(" ")} /></svg>`;
}

const RANK = { bad: 0, doubtful: 1, unknown: 2, "": 3, good: 4 };
const rank = (row) => row.headline === "..." ? 5 : RANK[row.tone];  // what nobody judged yet comes last
const WORDS = { bad: "sick", doubtful: "suspicious", unknown: "cannot tell", good: "well", "": "not yet judged" };

function arranged(rows, filter, grouped) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter((row) => words.every((word) => `${row.name} ${row.headline} ${row.cause} ${row.kind}`.toLowerCase().includes(word)));
  shown.sort((a, b) => rank(a) - rank(b) || b.heard - a.heard);
  if (!grouped) return shown;
  const groups = new Map();
  for (const row of shown) groups.set(row.group, [...(groups.get(row.group) || []), row]);
  return [...groups.values()].flat();
}

// A run that should be going on and has not been heard of.
const SILENT = 300;
const isSilent = (row, now) => Boolean(row.eta_seconds) && now - row.heard > SILENT;

function summary(rows, now) {
  const counts = {}, silent = rows.filter((row) => isSilent(row, now));
  for (const row of rows) if (row.kind === "run" || row.kind === "foreign") counts[row.tone] = (counts[row.tone] || 0) + 1;
  const said = Object.keys(RANK).filter((tone) => counts[tone]).map((tone) => `${counts[tone]} ${WORDS[tone]}`);
  if (silent.length) said.push(`${silent.length} silent for ${ago(now - Math.min(...silent.map((row) => row.heard)))}`);
  const results = rows.filter((row) => row.kind !== "run" && row.kind !== "foreign").length;
  return (said.join(", ") || (results ? "No runs" : "There are no runs here yet.")) + (results ? `; ${plural(results, "result")} of experiments` : "");
}

const addressOf = (row) => (row.kind === "run" || row.kind === "foreign" ? "/run/" : "/result/") + row.id;

function FleetRow({ row, top, chosen, picked, pick, now }) {
  const told = row.told.toLowerCase() === row.headline + "." ? "" : row.told.replace(/^[A-Z][a-z]+( so far)? since [a-z ]+[\d,]+: /, ""), isRun = row.kind === "run" || row.kind === "foreign";
  const waiting = row.headline === "...";
  const done = !isRun || waiting ? "" : row.budget ? `${Math.min(100, Math.round(100 * row.taken / row.budget))} %` : short(row.taken);
  const cause = row.cause ? `${row.cause.replaceAll("-", " ")} ${row.confidence === null ? "" : row.confidence.toFixed(2)}` : told;
  const quiet = isSilent(row, now) ? `silent ${ago(now - row.heard)}` : "";
  const heard = quiet || (row.eta_seconds ? `${ago(row.eta_seconds)} left` : `${ago(now - row.heard)} ago`);
  return html`<div role="row" class="row ${chosen ? "chosen" : ""}" style=${{ position: "absolute", top: top + "px", left: 0, right: 0 }}>
    <span role="cell">${row.tone ? html`<${Pill} tone=${row.tone}>${row.headline}<//>` : html`<span class="soft">${waiting ? "reading ..." : row.headline}</span>`}</span>
    <span role="cell">${isRun && html`<input type="checkbox" aria-label=${`compare ${row.name}`} checked=${picked} onChange=${() => pick(row.id)} />`} <a href=${addressOf(row)} title=${row.name}>${row.name}</a></span>
    <span role="cell" class="soft" title=${row.told}>${row.onset !== null && `${counted(row.onset)} · `}${cause}</span>
    <span role="cell" class="wide-only"><${Spark} values=${row.spark} /></span>
    <span role="cell" class="soft small" title="last heard of, or what is left">${heard}</span>
    <span role="cell" class="wide-only soft small">${done}</span></div>`;
}

function Fleet() {
  const [rows, setRows] = useState(null), [about, setAbout] = useState({ skipped: [], folder: "" }), [now, setNow] = useState(Date.now() / 1000);
  const [first, setFirst] = useState(0), [chosen, setChosen] = useState(-1), place = useRef(-1), [picked, setPicked] = useState([]);
  const address = useAddress(), box = useRef(null), input = useRef(null);
  const live = useStream("/events/fleet", {
    fleet: (found) => { setRows(found.rows); setAbout(found); setNow(found.now); },
    rows: (found) => {
      setNow(found.now);
      setRows((known) => {
        const all = new Map((known || []).map((row) => [row.id, row]));
        for (const row of found.rows) all.set(row.id, row);
        for (const id of found.gone) all.delete(id);
        return [...all.values()];
      });
    },
  });
  const shown = useMemo(() => arranged(rows || [], address.filter || "", address.group === "1"), [rows, address.filter, address.group]);
  const height = Math.min(shown.length * ROW + 2, Math.max(300, innerHeight - 230)), many = Math.ceil(height / ROW) + 2;
  const begin = Math.max(0, Math.min(first, shown.length - many)), visible = shown.slice(begin, begin + many);
  useEffect(() => {
    const waiting = visible.filter((row) => row.headline === "...").map((row) => row.id);
    if (waiting.length) fetch("/api/fleet?visible=" + waiting.join(",")).catch(() => {});
  }, [begin, rows === null, shown.length]);
  useEffect(() => { const clock = setInterval(() => setNow((then) => then + 5), 5000); return () => clearInterval(clock); }, []);
  useEffect(() => { if (rows) favicon(rows.some((row) => row.tone === "bad") ? "bad" : "good"); document.title = "runs · steadyrl"; }, [rows]);
  useEffect(() => {
    const choose = (at) => { place.current = Math.max(0, Math.min(shown.length - 1, at)); setChosen(place.current); };
    const pressed = ({ detail }) => {
      if (detail === "j") choose(place.current + 1);
      else if (detail === "k") choose(place.current - 1);
      else if (detail === "Enter" && shown[place.current]) location.href = addressOf(shown[place.current]);
      else if (detail === "/") setTimeout(() => input.current && input.current.focus());
    };
    addEventListener("key", pressed);
    return () => removeEventListener("key", pressed);
  }, [shown]);
  useEffect(() => { if (box.current && chosen >= 0) box.current.scrollTop = Math.max(0, (chosen - many / 2) * ROW); }, [chosen]);
  const pick = (id) => setPicked((known) => known.includes(id) ? known.filter((one) => one !== id) : [...known, id]);
  return html`<${Frame} title=${about.folder} home="/" live=${live}>
    <p class="first" style=${{ marginTop: "14px", fontSize: "1.2rem", fontWeight: 600 }}>${rows === null ? "Reading the runs ..." : summary(rows, now)}</p>
    <div class="filter"><input ref=${input} type="search" placeholder="filter (/)" aria-label="filter" value=${address.filter || ""} onInput=${(event) => State.write({ filter: event.target.value })} />
      <label><input type="checkbox" checked=${address.group === "1"} onChange=${(event) => State.write({ group: event.target.checked ? "1" : null })} /> group by seed</label>
      ${picked.length > 1 && html`<a href=${"/compare#ids=" + picked.join("~")}>compare ${picked.length}</a>`}</div>
    <div class="row head" aria-hidden="true"><span>verdict</span><span>run</span><span class="wide-only">first sign · cause</span><span class="wide-only">return</span><span>heard</span><span class="wide-only">done</span></div>
    <div class="rows" ref=${box} tabindex="0" role="table" aria-label="runs, worst first" aria-rowcount=${shown.length} style=${{ height: height + "px", overflowY: "auto", position: "relative" }} onScroll=${(event) => setFirst(Math.floor(event.target.scrollTop / ROW) - 1)}>
      <div role="rowgroup" style=${{ height: shown.length * ROW + "px", position: "relative" }}>${visible.map((row, i) => html`<${FleetRow} key=${row.id} row=${row} top=${(begin + i) * ROW} chosen=${begin + i === chosen} picked=${picked.includes(row.id)} pick=${pick} now=${now} />`)}</div></div>
    ${about.skipped.length > 0 && html`<${Fold} title=${plural(about.skipped.length, "thing") + " left out"}><${Table} block=${{ head: ["where", "why"], rows: about.skipped }} /><//>`}
  <//>`;
}

// A curve that grows stays bounded: of each stretch the lowest and the highest value are kept, and
// of what is no number the first of its kind, as in the curves that come with a verdict.
const STRETCHES = 600, LONGEST = 4 * STRETCHES;

function thinned({ x, y, odd }) {
  if (x.length <= LONGEST && odd.length <= LONGEST) return { x, y, odd };
  const wide = (x.at(-1) - x[0]) / STRETCHES || 1, stretch = (at) => Math.min(STRETCHES - 1, Math.floor((at - x[0]) / wide));
  const kinds = new Set(), first = (kind) => !kinds.has(kind) && kinds.add(kind);
  const told = odd.filter(([at, what]) => first(`${stretch(at)} ${what}`)), gaps = new Set(told.map(([at]) => at));
  const low = new Array(STRETCHES).fill(-1), high = new Array(STRETCHES).fill(-1), kept = new Set([0, x.length - 1]);
  for (let i = 0; i < x.length; i += 1) {
    const at = stretch(x[i]);
    if (y[i] === null) { if (gaps.has(x[i])) kept.add(i); continue; }
    if (low[at] < 0 || y[i] < y[low[at]]) low[at] = i;
    if (high[at] < 0 || y[i] > y[high[at]]) high[at] = i;
  }
  for (const i of [...low, ...high]) if (i >= 0) kept.add(i);
  const order = [...kept].sort((a, b) => a - b);
  return { x: order.map((i) => x[i]), y: order.map((i) => y[i]), odd: told };
}

function grown(run, added) {
  const curves = { ...run.curves };
  for (const [name, { x, y }] of Object.entries(added.signals)) {
    const known = curves[name] || { x: [], y: [] };
    const odd = x.map((at, i) => [at, y[i]]).filter((pair) => typeof pair[1] === "string");
    curves[name] = thinned({ x: [...known.x, ...x], y: [...known.y, ...y.map((value) => typeof value === "string" ? null : value)], odd: [...(known.odd || []), ...odd] });
  }
  const far = counted(added.taken) + (run.budget ? ` of ${counted(run.budget)}` : "");
  const facts = run.facts.map(([name, text]) => [name, name === run.unit.many ? far : text]);
  return { ...run, curves, facts, taken: added.taken };
}

function LiveRun({ id }) {
  const [run, set] = useState(null), [problem, complainOf] = useState("");
  const live = useStream("/events/run/" + id, {
    run: (found) => { complainOf(""); set(found); },
    problem: (text) => complainOf(text),
    steps: (added) => set((known) => known && grown(known, added)),
    view: (found) => set((known) => known && { ...known, ...found, curves: known.curves }),
  });
  if (!run || problem) return html`<${Frame} title="" home="/" live=${live}><p role="status">${problem || "Reading the run ..."}</p><//>`;
  return html`<${Page} page=${{ title: run.name, tone: run.tone, told: [], blocks: [], runs: [run] }} home="/" live=${live} />`;
}

function Fetched({ address }) {
  const [page, set] = useState(null), [problem, complainOf] = useState("");
  useEffect(() => {
    fetch(address).then(async (answer) => {
      if (answer.ok) set(await answer.json());
      else complainOf(answer.status === 422 ? (await answer.json()).error : "There is no such page.");
    }, () => complainOf("The server does not answer."));
  }, [address]);
  if (!page) return html`<${Frame} title="" home="/"><p>${problem || "Reading ..."}</p><//>`;
  return html`<${Page} page=${page} home="/" />`;
}

function startDashboard(root) {
  const [, kind, id] = location.pathname.split("/");
  root.textContent = "";
  if (kind === "run") render(html`<${LiveRun} id=${id} />`, root);
  else if (kind === "result" || kind === "rule") render(html`<${Fetched} address=${`/api/${kind}/${id}`} />`, root);
  else if (kind === "compare") render(html`<${Fetched} address=${"/api/runs?ids=" + (new URLSearchParams(location.hash.slice(1)).get("ids") || "").replaceAll("~", ",")} />`, root);
  else render(html`<${Fleet} />`, root);
}
