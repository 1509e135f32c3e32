// What a page does beyond being read: count down, look for news, copy, search. Everything works without it.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const main = () => by("page");

  // Counting down by the time that was left when the page was made, not by this device's clock, which may be wrong.
  let ends = 0;
  function wind() {
    const clock = document.querySelector("[data-left]");
    ends = clock ? performance.now() + clock.dataset.left * 1000 : 0;
    if (!clock) return;
    clock.querySelector(".until").classList.add("unseen");
    clock.querySelector(".count").hidden = false;
    tick();
  }
  function tick() {
    const clock = document.querySelector("[data-left]");
    if (!clock || !ends) return;
    const left = Math.max(0, Math.ceil((ends - performance.now()) / 1000));
    const hours = Math.floor(left / 3600), pad = (n) => String(n).padStart(2, "0");
    clock.querySelector(".digits").textContent = (hours ? hours + ":" : "") + pad(Math.floor(left / 60) % 60) + ":" + pad(left % 60);
    clock.classList.toggle("short", left < 300);
    if (left === 0) {
      ends = 0;
      look();
    }
  }
  setInterval(tick, 1000);

  // Looking for news: the same page again, which says in a few bytes that nothing has changed.
  let timer = 0, failures = 0;
  function plan(after) {
    clearTimeout(timer);
    timer = after > 0 ? setTimeout(look, after) : 0;
  }
  async function look() {
    clearTimeout(timer);
    const pause = Number(main().dataset.poll);
    if (!pause || document.hidden) return;
    let wait = pause;
    try {
      // The answer to a form lies below the payment's page: /pay/<reference>/transaction. Only the page itself can be read.
      const answer = await fetch(main().dataset.self, {
        headers: { Accept: "text/html", "If-None-Match": main().dataset.tag }, cache: "no-store", referrerPolicy: "no-referrer",
      });
      if (answer.status === 200) show(await answer.text());
      else if (answer.status !== 304) throw answer;
      failures = 0;
    } catch (why) {
      failures++;
      wait = Math.max(pause * Math.min(failures, 10), 1000 * Number((why.headers && why.headers.get("Retry-After")) || 0));
    }
    by("stale").hidden = failures < 2;
    plan(failures ? wait : Number(main().dataset.poll));
  }
  function show(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const page = fresh.getElementById("page");
    if (!page) return;
    const focus = document.activeElement && document.activeElement.id;
    for (const input of main().querySelectorAll("input[id]")) { // what was chosen or typed stays
      const twin = page.querySelector("#" + CSS.escape(input.id));
      if (!twin) continue;
      if (input.type === "radio") twin.checked = input.checked;
      else twin.value = input.value;
    }
    for (const box of main().querySelectorAll("details[id]")) {
      const twin = page.querySelector("#" + CSS.escape(box.id));
      if (twin) twin.open = box.open;
    }
    const before = headline(main()), after = headline(page);
    main().replaceWith(page);
    document.title = fresh.title;
    if (after !== before) by("say").textContent = after;
    if (focus && by(focus)) by(focus).focus({ preventScroll: true });
    begin();
  }
  function headline(page) {
    const h = page.querySelector("[data-say]");
    return h ? h.dataset.say : "";
  }
  document.addEventListener("visibilitychange", look);
  addEventListener("online", look);

  // Copying.
  async function copy(button) {
    const source = by(button.dataset.copy);
    const text = source.dataset.link ? location.origin + source.dataset.link : source.textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
    } catch { // an insecure page, or an old browser
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    const was = button.textContent;
    if (button.classList.contains("done")) return;
    button.classList.add("done");
    button.textContent = by("say").textContent = document.body.dataset.copied;
    setTimeout(() => {
      button.classList.remove("done");
      button.textContent = was;
    }, 1800);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
    if (event.target.closest("[data-print]")) window.print();
  });

  // Searching a list of choices while typing: the same search as without a script, which knows short names.
  let searching = 0;
  async function search(input) {
    const list = by(input.dataset.filter), turn = ++searching;
    await new Promise((ready) => setTimeout(ready, 150));
    if (turn !== searching) return; // more was typed
    const answer = await fetch(list.dataset.search + encodeURIComponent(input.value), { referrerPolicy: "no-referrer" }).catch(() => null);
    const found = answer && answer.ok && new Set((await answer.json()).banks.map((bank) => bank.code));
    if (!found || turn !== searching) return;
    let shown = 0;
    for (const choice of list.querySelectorAll(".choice")) {
      choice.hidden = !found.has(choice.querySelector("input").value);
      if (!choice.hidden) shown++;
    }
    list.querySelector(".none").hidden = shown > 0;
    by("count").textContent = list.dataset.count.replace("{count}", shown);
  }
  document.addEventListener("input", (event) => {
    if (event.target.dataset.filter) search(event.target);
  });

  // The payer's last choice of a coin and network, which this browser alone keeps, is the next one's default.
  const last = "pair";
  function recall() {
    const form = document.querySelector(".choose");
    if (!form || form.querySelector("[name=pair]:checked")) return;
    let pair = null;
    try { pair = localStorage.getItem(last); } catch { return; } // a browser that keeps nothing
    const choice = pair && by("pair-" + pair);
    if (!choice) return;
    for (const coin of form.querySelectorAll("details")) coin.open = coin.contains(choice);
    choice.checked = true;
  }
  document.addEventListener("submit", (event) => {
    const choice = event.target.querySelector("[name=pair]:checked");
    try { if (choice) localStorage.setItem(last, choice.value); } catch {} // the same
  });

  function begin() {
    for (const button of document.querySelectorAll("[data-copy], [data-print]")) button.hidden = false;
    for (const link of document.querySelectorAll("[data-link]")) link.textContent = location.origin + link.dataset.link;
    for (const button of document.querySelectorAll(".search button")) button.hidden = true; // the list follows what is typed
    recall();
    wind();
    plan(Number(main().dataset.poll));
  }
  begin();
})();
