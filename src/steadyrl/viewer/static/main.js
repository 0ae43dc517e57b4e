// The frame around every page, and where its data come from: the file itself, or the server.
function Help({ close }) {
  const keys = [["j k", "next, previous run"], ["Enter", "open it"], ["/", "filter"], ["n p", "next, previous finding"], ["l", "logarithmic"],
    ["t", "dark or light"], ["← →", "read a chart's values"], ["drag", "look closer; double click: back"], ["?", "this"]];
  return html`<div class="card" role="dialog" aria-label="keys"><table><tbody>${keys.map(([key, what]) => html`<tr><td class="mono">${key}</td><td>${what}</td></tr>`)}</tbody></table>
    <button type="button" onClick=${close}>close</button></div>`;
}

function Frame({ title, home, live, children }) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
      if (event.key === "?") setHelp((shown) => !shown);
      else if (event.key === "t") setTheme(!isDark());
      else if (event.key === "l") State.write({ log: State.read().log === "1" ? null : "1" });
      else if (event.key === "Escape") setHelp(false);
      else dispatchEvent(new CustomEvent("key", { detail: event.key }));
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  return html`<header class="top">${home ? html`<a class="brand" href=${home}>steadyrl</a>` : html`<span class="brand">steadyrl</span>`}<h1>${title || "Reading"}</h1>
      ${live && html`<span class="live ${live === "live" ? "" : "lost"}" role="status">${live === "live" ? "● live" : "○ " + live}</span>`}
      <button type="button" aria-label="dark or light" title="dark or light (t)" onClick=${() => setTheme(!isDark())}>◐</button>
      <button type="button" aria-label="keys" title="keys (?)" onClick=${() => setHelp(!help)}>?</button></header>
    <main>${help && html`<${Help} close=${() => setHelp(false)} />`}${children}</main>
    <footer>steadyrl ${document.documentElement.dataset.version} · Charts: drag to look closer, double click to go back, ? for keys.</footer>`;
}

function jump(run, forwards) {
  const found = [...new Set(run.findings.map((one) => one.taken))].sort((a, b) => a - b);
  if (!found.length) return;
  const whole = bounds(run), width = (whole[1] - whole[0]) * 0.12, now = State.read().x;
  const middle = now ? (now[0] + now[1]) / 2 : forwards ? -Infinity : Infinity, near = width * 1e-3;
  const next = forwards ? found.find((at) => at > middle + near) ?? found[0] : found.findLast((at) => at < middle - near) ?? found.at(-1);
  State.write({ x: [next - width, next + width] });
}

function Page({ page, home, live }) {
  useEffect(() => { favicon(page.tone || (page.runs[0] && page.runs[0].tone)); document.title = `${page.title} · steadyrl`; }, [page]);
  useEffect(() => {
    const pressed = ({ detail }) => { if ((detail === "n" || detail === "p") && page.runs.length === 1) jump(page.runs[0], detail === "n"); };
    addEventListener("key", pressed);
    return () => removeEventListener("key", pressed);
  }, [page]);
  const alone = page.runs.length === 1 && !page.told.length;
  return html`<${Frame} title=${page.title} home=${home} live=${live}>
    ${page.told.length > 0 && html`<${Verdict} page=${page} />`}
    ${page.blocks.map((block) => html`<${Block} block=${block} />`)}
    ${alone ? html`<${Run} run=${page.runs[0]} />` : page.runs.length > 0 && html`<${Together} runs=${page.runs} groups=${page.groups} decided=${page.decided} />`}
  <//>`;
}

async function inlined(element) {
  if (element.dataset.packed !== "gzip") return JSON.parse(element.textContent);
  const text = atob(element.textContent.trim()), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// A file: what is seen first is drawn first, before the rest of the file has come; curves that are
// folded away are read when there is nothing else to do.
function Inlined({ page }) {
  const [whole, set] = useState(page);
  useEffect(() => {
    const idle = window.requestIdleCallback || ((act) => setTimeout(act, 100));
    const read = async () => {
      const rest = document.getElementById("more");
      if (!rest) return;
      const later = await inlined(rest);
      set({ ...page, runs: page.runs.map((run, index) => ({ ...run, curves: { ...run.curves, ...later[index] } })) });
    };
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", () => idle(read));
    else idle(read);
  }, []);
  return html`<${Page} page=${whole} />`;
}

function complain(root, text) {
  root.textContent = "";
  const said = document.createElement("p");
  said.textContent = text;
  root.append(said);
}

async function begin() {
  const root = document.getElementById("page"), data = document.getElementById("data");
  try {
    if (data) {
      const page = await inlined(data);
      root.textContent = "";
      render(html`<${Inlined} page=${page} />`, root);
    } else startDashboard(root);
  } catch (error) {
    complain(root, `This page cannot be drawn: ${error}. A current browser is needed.`);
    throw error;
  }
}
