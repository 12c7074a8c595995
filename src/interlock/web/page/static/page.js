// Keeps an open page as the database is. Every page works without it: then it shows what was true when it was loaded.
"use strict";

const SETTLE_MS = 250; // events that come together are one look
const RETRY_MS = 3000;
const CHANGES = [
  "approval_created", "approval_answered", "alert_raised", "control_changed", "task_changed", "lifecycle", "lagged",
];

let source = null;
let looking = null;
let planned = null;

function hasInput(block) {
  if (block.contains(document.activeElement) && document.activeElement.matches("input, textarea")) return true;
  return [...block.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue);
}

function keepOpen(old, fresh) {
  const before = old.querySelectorAll("details");
  const after = fresh.querySelectorAll("details");
  if (before.length === after.length) before.forEach((each, n) => (after[n].open = each.open));
}

function replace(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (hasInput(old)) {
    stale(old, "This has changed since: what you typed is kept. Reload to see it as it is now.");
    return;
  }
  keepOpen(old, fresh);
  if (!old.isEqualNode(fresh)) old.replaceWith(fresh);
}

function stale(block, text) {
  if (block.querySelector(":scope > .stale")) return;
  const note = document.createElement("p");
  note.className = "notice stale";
  note.setAttribute("role", "status");
  note.textContent = text;
  block.prepend(note);
}

function mergeList(old, fresh) {
  const known = new Map([...old.children].map((each) => [each.dataset.live, each]));
  const wanted = [...fresh.children];
  const names = new Set(wanted.map((each) => each.dataset.live));
  for (const [name, each] of known) {
    if (names.has(name)) continue;
    if (hasInput(each)) stale(each, "This is not in the list any more: what you typed is kept. Reload to see why.");
    else each.remove();
  }
  let place = null;
  for (const each of wanted) {
    const here = known.get(each.dataset.live);
    if (here) {
      replace(here, each);
      place = old.querySelector(`:scope > [data-live="${CSS.escape(each.dataset.live)}"]`);
    } else {
      if (place) place.after(each);
      else old.prepend(each);
      place = each;
    }
  }
}

async function look() {
  if (looking) return;
  looking = new AbortController();
  try {
    const answer = await fetch(location.href, { signal: looking.signal, headers: { accept: "text/html" } });
    if (new URL(answer.url).pathname === "/sign-in") {
      location.assign(answer.url);
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = fresh.title;
    for (const list of document.querySelectorAll("[data-live-list]")) {
      const now = fresh.querySelector(`[data-live-list="${list.dataset.liveList}"]`);
      if (now) mergeList(list, now);
    }
    for (const block of document.querySelectorAll("[data-live]")) {
      if (block.parentElement.hasAttribute("data-live-list")) continue;
      const now = fresh.querySelector(`[data-live="${CSS.escape(block.dataset.live)}"]`);
      if (now) replace(block, now);
    }
    connected(true);
  } catch {
    connected(false);
    plan(RETRY_MS);
  } finally {
    looking = null;
  }
}

function plan(after = SETTLE_MS) {
  if (planned) return;
  planned = setTimeout(() => {
    planned = null;
    look();
  }, after);
}

function connected(is) {
  const notice = document.getElementById("offline");
  if (notice) notice.hidden = is;
}

function listen() {
  if (source || document.hidden) return;
  source = new EventSource("/live");
  source.onopen = () => plan(); // whatever happened before is seen with the first look
  source.onerror = () => {
    connected(false);
    if (source && source.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(listen, RETRY_MS);
    }
    plan(RETRY_MS);
  };
  for (const name of CHANGES) source.addEventListener(name, () => plan());
}

function rest() {
  // A hidden tab gives its connection back: browsers have six for one server.
  if (source) source.close();
  source = null;
}

document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.forms) delete form.dataset.sent; // it came back by "Back", and may be sent again
  for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
  plan();
});
document.addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
  if (button) button.setAttribute("aria-busy", "true");
});
if (document.querySelector("[data-live]")) listen();
