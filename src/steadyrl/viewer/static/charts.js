// A chart: its line, the zone in which a rule objects, and every value that is no number.
const LEFT = 58, RIGHT = 16;
const NEAR = 300;  // pixels around the screen in which charts are drawn

function aligned(series) {
  if (series.length === 1) return [series[0].x, series[0].y];
  return uPlot.join(series.map((one) => [one.x, one.y]));
}

function bandAt(band, x) {
  let at = -1;
  while (at + 1 < band.x.length && band.x[at + 1] <= x) at += 1;
  return at < 0 ? [null, null] : [band.low[at], band.high[at]];
}

function extent(series, band, range) {
  let low = Infinity, high = -Infinity;
  for (const one of series) {
    for (const values of [one.y, one.low || [], one.high || []]) {
      for (let i = 0; i < values.length; i += 1) {
        const value = values[i];
        if (value === null || (range && (one.x[i] < range[0] || one.x[i] > range[1]))) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
  }
  if (low > high) return [0, 1];
  const span = high - low || Math.abs(high) || 1;
  for (const edge of band ? [...band.low, ...band.high] : []) {  // shown if it is anywhere near
    if (edge === null) continue;
    if (edge < low && edge > low - 0.6 * span) low = edge;
    if (edge > high && edge < high + 0.6 * span) high = edge;
  }
  const room = (high - low || span) * 0.08;
  return [low - room, high + room];
}

function zones(u, band) {
  const { left, top, width, height } = u.bbox, context = u.ctx;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  for (let i = 0; i < band.x.length; i += 1) {
    const from = u.valToPos(band.x[i], "x", true);
    const to = i + 1 < band.x.length ? u.valToPos(band.x[i + 1], "x", true) : left + width;
    for (const [edge, beyond] of [[band.low[i], top + height], [band.high[i], top]]) {
      if (edge === null) continue;
      const y = Math.max(top - 5, Math.min(top + height + 5, u.valToPos(edge, "y", true)));
      context.fillStyle = css("--zone");
      context.fillRect(from, Math.min(y, beyond), to - from, Math.abs(beyond - y));
      context.strokeStyle = css("--bad"); context.globalAlpha = 0.55;
      context.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      context.beginPath(); context.moveTo(from, y); context.lineTo(to, y); context.stroke();
      context.globalAlpha = 1;
    }
  }
  context.restore();
}

function triangle(context, x, y, size, up) {
  context.beginPath();
  context.moveTo(x - size, y); context.lineTo(x + size, y);
  context.lineTo(x, up ? y - 1.7 * size : y + 1.7 * size);
  context.closePath(); context.fill();
}

function extras(u, spec) {
  const { left, top, width, height } = u.bbox, context = u.ctx, size = 5 * devicePixelRatio;
  context.save();
  context.beginPath(); context.rect(left, top - size, width, height + 2 * size); context.clip();
  if (spec.onset !== null && spec.onset !== undefined) {
    const x = u.valToPos(spec.onset, "x", true);
    context.strokeStyle = css("--bad"); context.lineWidth = devicePixelRatio;
    context.beginPath(); context.moveTo(x, top); context.lineTo(x, top + height); context.stroke();
  }
  spec.series.forEach((one, index) => {
    for (const [at, what] of one.odd || []) {
      context.fillStyle = spec.series.length > 1 ? one.color || COLORS[index % COLORS.length] : css("--bad");
      const x = u.valToPos(at, "x", true), high = what === "inf";
      triangle(context, x, high ? top + 1.7 * size : top + height - (what === "nan" ? 0 : 1.7 * size), size, what !== "-inf");
    }
    if (one.low && one.high) {
      context.strokeStyle = one.color || COLORS[index % COLORS.length];
      context.lineWidth = 1.5 * devicePixelRatio;
      one.x.forEach((at, i) => {
        if (one.low[i] === null || one.high[i] === null || one.area) return;
        const x = u.valToPos(at, "x", true);
        context.beginPath();
        context.moveTo(x, u.valToPos(one.low[i], "y", true));
        context.lineTo(x, u.valToPos(one.high[i], "y", true)); context.stroke();
      });
    }
  });
  context.restore();
}

function areas(u, spec) {
  const context = u.ctx, { left, top, width, height } = u.bbox;
  context.save();
  context.beginPath(); context.rect(left, top, width, height); context.clip();
  spec.series.forEach((one, index) => {
    if (!one.area) return;
    context.fillStyle = one.color || COLORS[index % COLORS.length]; context.globalAlpha = 0.15;
    context.beginPath();
    one.x.forEach((at, i) => { if (one.high[i] !== null) context.lineTo(u.valToPos(at, "x", true), u.valToPos(one.high[i], "y", true)); });
    for (let i = one.x.length - 1; i >= 0; i -= 1) {
      if (one.low[i] !== null) context.lineTo(u.valToPos(one.x[i], "x", true), u.valToPos(one.low[i], "y", true));
    }
    context.fill(); context.globalAlpha = 1;
  });
  context.restore();
}

function options(spec, width, height, onCursor, onRange) {
  const many = Math.max(...spec.series.map((one) => one.x.length), 0);
  const axis = { stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false },
    font: "11px system-ui, sans-serif" };
  const category = spec.categories && spec.categories.length;
  return {
    width, height, padding: [6, RIGHT, 0, 0], legend: { show: false },
    cursor: { y: false, drag: { x: !category, y: false, setScale: false }, points: { size: 6 },
      ...(spec.sync ? { sync: { key: spec.sync } } : {}) },
    scales: { x: { time: false, range: (u, low, high) => spec.range || (category
        ? [-0.5, spec.categories.length - 0.5] : spec.whole || (low === high ? [low - 1, high + 1] : [low, high])) },
      y: spec.log ? { distr: 3 } : { range: () => extent(spec.series, spec.band, spec.range) } },
    axes: [
      { ...axis, size: 24, gap: 2, ...(category ? { splits: spec.categories.map((_, i) => i),
        values: (u, found) => found.map((i) => spec.categories[i]) } : { values: (u, found) => found.map(short) }) },
      { ...axis, size: LEFT, gap: 4, values: (u, found) => found.map((v) => v === null ? "" : short(v)) },
    ],
    series: [{}, ...spec.series.map((one, index) => ({
      stroke: one.color || (spec.series.length > 1 ? COLORS[index % COLORS.length] : css("--accent")),
      width: one.thin ? 1 : 1.6, alpha: one.dim ? 0.4 : 1, ...(one.dim ? { dash: [4, 3] } : {}),
      points: { show: (many < 40 && !one.dim && !one.thin) || one.x.length === 1, size: 5 },
    }))],
    hooks: {
      drawAxes: [(u) => { if (spec.band) zones(u, spec.band); areas(u, spec); }],
      draw: [(u) => extras(u, spec)],
      setCursor: [(u) => onCursor(u)],
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        onRange([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

function reading(spec, u) {
  const at = u.cursor.idx;
  if (at === null || at === undefined) return "";
  const x = u.data[0][at];
  const where = spec.categories && spec.categories.length ? spec.categories[x] : `at ${counted(Math.round(x))}`;
  const said = spec.series.map((one, index) => {
    const odd = (one.odd || []).find(([place]) => place === x);
    const value = odd ? odd[1] : u.data[index + 1][at];
    if (value === null || value === undefined) return null;
    return (spec.series.length > 1 && one.name ? one.name + " " : "") + number(value);
  }).filter((text) => text !== null);
  const [low, high] = spec.band ? bandAt(spec.band, x) : [null, null];
  const limit = (low !== null ? ` (at least ${number(low)})` : "") + (high !== null ? ` (at most ${number(high)})` : "");
  return said.length ? `${where}: ${said.slice(0, 4).join(", ")}${limit}` : "";
}

function Chart({ spec, height = 150, title, about, children }) {
  const place = useRef(null), plot = useRef(null), drawn = useRef(null), [said, say] = useState(""), [seen, see] = useState(false);
  const [table, setTable] = useState(false), [theme, setThemeCount] = useState(0);
  const address = useAddress();
  const range = spec.zoom || (spec.fixed ? null : address.x);
  const log = address.log === "1" && !spec.fixed;
  const near = useRef(false);
  useEffect(() => {  // only what is on the screen is drawn; what is there at first is drawn at once
    const { top, bottom, width } = place.current.getBoundingClientRect();
    near.current = width > 0 && top < innerHeight + NEAR && bottom > -NEAR;
    const watcher = new IntersectionObserver((found) => { if (found.some((one) => one.isIntersecting)) see(true); }, { rootMargin: `${NEAR}px` });
    if (!near.current) watcher.observe(place.current);
    const renew = () => setThemeCount((n) => n + 1);
    addEventListener("theme", renew);
    const print = () => { if (!near.current) see(true); };
    addEventListener("beforeprint", print);
    return () => { watcher.disconnect(); removeEventListener("theme", renew); removeEventListener("beforeprint", print); };
  }, []);
  const logged = log && spec.series.every((one) => one.y.every((v) => v === null || v > 0));
  const shape = spec.series.map((one) => [one.name, one.color, one.thin, one.dim].join()).join(";");
  useEffect(() => {
    if (!(seen || near.current) || !place.current) return undefined;
    const width = Math.max(120, place.current.clientWidth);
    const held = drawn.current = { ...spec, range, log: logged, source: spec };
    const made = new uPlot(options(held, width, height, (u) => say(reading(held, u)), (x) => State.write({ x })), aligned(spec.series), place.current);
    plot.current = made;
    const resize = new ResizeObserver(() => {
      const now = place.current && place.current.clientWidth;
      if (now && Math.abs(now - made.width) > 1) made.setSize({ width: now, height });
    });
    resize.observe(place.current);
    return () => { resize.disconnect(); made.destroy(); plot.current = null; };
  }, [seen, theme, height, logged, shape, range && range.join()]);
  useEffect(() => {  // new values in the same lines: whoever reads the chart keeps the place
    if (!plot.current || drawn.current.source === spec) return;
    Object.assign(drawn.current, { band: undefined, onset: undefined }, spec, { source: spec });
    plot.current.setData(aligned(spec.series));
  }, [spec]);
  const move = (event) => {
    const u = plot.current;
    if (!u || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    const step = (event.key === "ArrowRight" ? 1 : -1) * (event.shiftKey ? 10 : 1), last = u.data[0].length - 1;
    const at = Math.max(0, Math.min(last, (u.cursor.idx ?? (step > 0 ? -1 : last + 1)) + step));
    u.setCursor({ left: u.valToPos(u.data[0][at], "x"), top: 10 });
  };
  const odd = spec.series.flatMap((one) => one.odd || []);
  const last = spec.series.length === 1 && !spec.still ? spec.series[0].y.filter((v) => v !== null).at(-1) : undefined;
  return html`<figure role="group" aria-label=${`chart of ${title}`}>
    <figcaption><b>${title}</b>
      <span class="at" aria-live="polite">${said || (last !== undefined ? `last ${number(last)}` : "")}</span>
      ${spec.table ? html`<button type="button" class="quiet" aria-expanded=${table} onClick=${() => setTable(!table)}>values</button>` : html`<span></span>`}
      ${about && html`<span class="about soft">${about}</span>`}
      ${odd.length > 0 && html`<span class="pill severe">▲ ${odd.length} × ${[...new Set(odd.map((o) => o[1]))].join(", ")}, first at ${counted(odd[0][0])}</span>`}</figcaption>
    <div class="plot" ref=${place} tabindex="0" role="img" aria-label=${`${title}: arrow keys read values`} onKeyDown=${move} onDblClick=${() => State.write({ x: null })} style=${{ minHeight: height + "px" }}></div>
    ${children}
    ${table && html`<${Values} series=${spec.series} />`}
  </figure>`;
}

function Values({ series }) {
  const one = series[0], step = Math.max(1, Math.ceil(one.x.length / 200));
  const rows = one.x.map((x, i) => [x, one.y[i]]).filter((_, i) => i % step === 0);
  return html`<div class="scroll" tabindex="0" style=${{ maxHeight: "240px" }}><table><thead><tr><th>at</th><th>value</th></tr></thead>
    <tbody>${rows.map(([x, y]) => html`<tr><td class="number">${counted(x)}</td><td class="number">${y === null ? "no number" : number(y)}</td></tr>`)}</tbody></table></div>`;
}
