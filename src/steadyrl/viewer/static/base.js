// What every part uses: words, numbers, colours, and the state that lives in the address.
const { h, render, useEffect, useMemo, useRef, useState, uPlot } = vendor;
const html = vendor.htm.bind(h);

const COLORS = ["#2f6fd0", "#d9480f", "#2b8a3e", "#9c36b5", "#0b7285", "#c2255c", "#7a5a00",
  "#5f6b7a", "#4dabf7", "#ff8f5c", "#51cf66", "#da77f2", "#22b8cf", "#f06595", "#d9a800", "#98a2ae"];

function number(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(2).replace("e+", "e");
  return value.toLocaleString("en-US", { maximumSignificantDigits: size >= 1e4 ? 7 : 4 });
}

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return trim(value / 1e9) + "G";
  if (size >= 1e6) return trim(value / 1e6) + "M";
  if (size >= 1e3) return trim(value / 1e3) + "k";
  return size !== 0 && size < 1e-3 ? value.toExponential(0) : trim(value);
}

const trim = (value) => String(+value.toPrecision(3));
const counted = (value) => value.toLocaleString("en-US");
const plural = (count, one, many) => `${counted(count)} ${count === 1 ? one : many || one + "s"}`;

function ago(seconds) {
  if (seconds < 0) seconds = 0;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} days`;
}

// The whole state of a page is behind the # of its address, so that a link restores it.
const State = {
  read() {
    const found = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const range = /^(-?[\d.e+]+)~(-?[\d.e+]+)$/.exec(found.x || "");
    return { ...found, x: range ? [+range[1], +range[2]] : null };
  },
  write(changes) {
    const found = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === "" || value === false) found.delete(name);
      else found.set(name, Array.isArray(value) ? value.map((v) => +v.toPrecision(8)).join("~") : value);
    }
    history.replaceState(null, "", "#" + found.toString());
    dispatchEvent(new Event("state"));
  },
};

function useAddress() {
  const [state, set] = useState(State.read());
  useEffect(() => {
    const renew = () => set(State.read());
    addEventListener("state", renew);
    addEventListener("hashchange", renew);
    return () => { removeEventListener("state", renew); removeEventListener("hashchange", renew); };
  }, []);
  return state;
}

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  try { localStorage.setItem("steadyrl-theme", dark ? "dark" : "light"); } catch { /* a file may not */ }
  dispatchEvent(new Event("theme"));
}

try {
  const kept = localStorage.getItem("steadyrl-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* a file may not */ }

const TONE_COLORS = { good: "#1c9c5b", doubtful: "#d98a00", bad: "#d92d20", unknown: "#7467d6" };

function favicon(tone) {
  const shape = tone === "bad" ? "M8 1l7 14H1z" : "M8 1a7 7 0 100 14A7 7 0 008 1z";
  const drawn = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="${shape}" fill="${TONE_COLORS[tone] || "#5f6b7a"}"/></svg>`;
  let link = document.querySelector("link[rel=icon]");
  if (!link) { link = document.createElement("link"); link.rel = "icon"; document.head.append(link); }
  link.href = "data:image/svg+xml," + encodeURIComponent(drawn);
}

function Copy({ text }) {
  const [done, set] = useState(false);
  const copy = () => {
    const finish = () => { set(true); setTimeout(() => set(false), 1500); };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(finish, () => {});
  };
  return html`<button type="button" onClick=${copy} aria-live="polite">${done ? "copied" : "copy"}</button>`;
}

const Pill = ({ tone, children }) => html`<span class="pill ${tone}">${MARKS[tone] || ""} ${children}</span>`;
// A rule's name; where there is a server it leads to the rule's page.
function Rule({ id, name }) {
  const said = `${id} ${(name || "").replaceAll("-", " ")}`.trim();
  return document.getElementById("data") ? html`<span>${said}</span>` : html`<a href=${"/rule/" + id}>${said}</a>`;
}

const MARKS = { good: "●", doubtful: "▲", bad: "◆", unknown: "?", severe: "◆", warning: "▲", note: "?" };
