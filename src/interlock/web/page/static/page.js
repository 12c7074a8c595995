// Keeps an open page as the database is. Every page works without it: then it shows what was true when it was loaded.
"use strict";

const SETTLE_MS = 250; // events that come together are one look
const RETRY_MS = 3000;
const CALM_MS = 600; // a button that has just come or moved takes no tap: it was meant for what was there before
const GIVE_UP_MS = 15000; // after that, a form that got no answer may be sent again
const CHANGES = [
  "approval_created", "approval_answered", "alert_raised", "control_changed", "task_changed", "lifecycle", "lagged",
];

let source = null;
let looking = null;
let isMissed = false; // something happened while a look was under way, which may not have seen it
let planned = null;

function hasInput(block) {
  if (block.contains(document.activeElement) && document.activeElement.matches("input, textarea")) return true;
  return [...block.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue);
}

function nameOf(element) {
  const form = element.closest("form") || element.parentElement.querySelector("form");
  return [element.tagName, element.name, form && form.getAttribute("action"), element.textContent].join(" ");
}

function keepOpen(old, fresh) {
  // By name: where "Drain" was, there may be "Resume" now.
  const open = [...old.querySelectorAll("details[open] > summary")].map(nameOf);
  for (const each of fresh.querySelectorAll("details > summary")) {
    if (open.includes(nameOf(each))) each.parentElement.open = true;
  }
}

function focusAsBefore(name, fresh) {
  const same = [...fresh.querySelectorAll("a, button, summary, pre")].find((each) => nameOf(each) === name);
  if (same) same.focus({ preventScroll: true });
}

function replace(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (hasInput(old)) {
    stale(old, "This has changed since: what you typed is kept. Reload to see it as it is now.");
    return;
  }
  keepOpen(old, fresh);
  if (old.isEqualNode(fresh)) return;
  const focused = old.contains(document.activeElement) && old !== document.activeElement;
  const name = focused ? nameOf(document.activeElement) : null;
  old.replaceWith(fresh);
  if (focused) focusAsBefore(name, fresh);
}

const calmAt = new Map(); // of each button that waits, when it takes taps again

function buttons() {
  return [...document.querySelectorAll("main form button")];
}

function calm() {
  const now = performance.now();
  for (const [button, at] of calmAt) {
    if (at > now && button.isConnected) continue;
    calmAt.delete(button);
    button.disabled = false;
    if (button.dataset.focus && document.activeElement === document.body) button.focus({ preventScroll: true });
    delete button.dataset.focus;
  }
}

function wait(button) {
  if (button === document.activeElement) button.dataset.focus = "yes";
  button.disabled = true;
  setTimeout(calm, calmAt.get(button) - performance.now() + 1);
}

function change(apply) {
  const places = new Map(buttons().map((each) => [each, each.getBoundingClientRect().top]));
  for (const each of calmAt.keys()) each.disabled = false; // or it would differ from a fresh one
  apply();
  const at = performance.now() + CALM_MS;
  for (const each of buttons()) {
    const before = places.get(each);
    const stays = before !== undefined && Math.abs(each.getBoundingClientRect().top - before) < 2;
    if (!stays) calmAt.set(each, at);
    if (calmAt.has(each)) wait(each);
  }
}

function merge(fresh) {
  for (const list of document.querySelectorAll("[data-live-list]")) {
    const now = fresh.querySelector(`[data-live-list="${list.dataset.liveList}"]`);
    if (now) mergeList(list, now);
  }
  for (const block of document.querySelectorAll("[data-live]")) {
    if (block.parentElement.hasAttribute("data-live-list")) continue;
    const now = fresh.querySelector(`[data-live="${CSS.escape(block.dataset.live)}"]`);
    if (now) replace(block, now);
  }
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
  if (looking) {
    isMissed = true;
    return;
  }
  looking = new AbortController();
  try {
    const answer = await fetch(location.href, { signal: looking.signal, headers: { accept: "text/html" } });
    if (new URL(answer.url).pathname === "/sign-in") {
      const main = document.querySelector("main");
      if (hasInput(document.body)) stale(main, "You are signed out, and what you typed is kept: sign in in another tab.");
      else location.assign(answer.url);
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The answer to a form stays as it is, and what is around it is that of the page it belongs to.
    if (new URL(answer.url).pathname === location.pathname) document.title = fresh.title;
    change(() => merge(fresh));
    connected(true);
  } catch {
    connected(false);
    plan(RETRY_MS);
  } finally {
    looking = null;
    if (isMissed) plan();
    isMissed = false;
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
  for (const form of document.forms) unsend(form); // it came back by "Back", and may be sent again
  plan();
});
function unsend(form) {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
}

document.addEventListener("submit", (event) => {
  const button = event.target.querySelector("button");
  if (event.target.dataset.sent) {
    event.preventDefault();
    return;
  }
  event.target.dataset.sent = "yes";
  if (button) button.setAttribute("aria-busy", "true");
  setTimeout(unsend, GIVE_UP_MS, event.target);
});
if (document.querySelector("[data-live]")) listen();
