// The script of the pages: passkeys, copying, live parts. Everything else works without it.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = !window.PublicKeyCredential && !!part.querySelector("[data-passkey]");

  // Passkeys. The server's options and the browser's answer are JSON whose binary values are base64url.
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  async function send(path, body, headers) {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json", ...headers }, body: JSON.stringify(body || {}) });
    const got = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error((got.error && got.error.message) || document.body.dataset.failed);
    return got;
  }
  function decode(options) {
    options.challenge = bytes(options.challenge);
    if (options.user) options.user.id = bytes(options.user.id);
    for (const list of [options.allowCredentials, options.excludeCredentials]) for (const one of list || []) one.id = bytes(one.id);
    return options;
  }
  function encode(credential) {
    const from = credential.response, response = { clientDataJSON: text(from.clientDataJSON) };
    for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) if (from[name]) response[name] = text(from[name]);
    if (from.getTransports) response.transports = from.getTransports();
    return { id: credential.id, rawId: text(credential.rawId), type: credential.type, response, clientExtensionResults: credential.getClientExtensionResults() };
  }
  async function passkey(button) {
    const problem = button.parentElement.querySelector("[data-passkey-problem]");
    if (problem) problem.hidden = true;
    button.disabled = true;
    try {
      const form = button.closest("form"), more = form ? Object.fromEntries(new FormData(form)) : {};
      const options = await send(button.dataset.passkey + "/begin", more);
      if (options.to) return location.assign(options.to);
      const made = options.publicKey.user ? await navigator.credentials.create({ publicKey: decode(options.publicKey) })
        : await navigator.credentials.get({ publicKey: decode(options.publicKey) });
      const done = await send(button.dataset.passkey + "/finish", encode(made));
      location.assign(done.to || location.href);
    } catch (why) {
      const message = why.name === "Error" ? why.message : document.body.dataset.failed;
      if (problem) {
        problem.textContent = message;
        problem.hidden = false;
      }
      button.disabled = false;
    }
  }

  // Copying.
  async function copy(button) {
    const source = by(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.dataset.text || source.textContent.trim());
    } catch { // an insecure page, or an old browser
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    if (button.classList.contains("done")) return;
    const was = button.textContent;
    button.classList.add("done");
    button.textContent = by("say").textContent = document.body.dataset.copied;
    setTimeout(() => {
      button.classList.remove("done");
      button.textContent = was;
    }, 1800);
  }

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-copy], [data-passkey]");
    if (!target) return;
    if (target.dataset.copy) copy(target);
    else passkey(target);
  });

  // A picture of this device goes into its form as text.
  document.addEventListener("change", (event) => {
    const file = event.target.files && event.target.dataset.into && event.target.files[0];
    if (!file) return;
    const reader = new FileReader();
    reader.onload = () => { by(event.target.dataset.into).value = reader.result; };
    reader.readAsDataURL(file);
  });

  // A form is sent once.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 5000);
  });
  addEventListener("pageshow", () => { for (const form of document.forms) delete form.dataset.sent; });

  // Live parts: when the stream sends another version of the page, the script replaces the parts that the page marks.
  let stream = null;
  async function renew() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" }).catch(() => null);
    if (!answer || !answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const twin = fresh.querySelector('[data-part="' + CSS.escape(part.dataset.part) + '"]');
      if (!twin || part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")) continue;
      for (const box of part.querySelectorAll("details[id]")) {
        const same = twin.querySelector("#" + CSS.escape(box.id));
        if (same) same.open = box.open;
      }
      part.replaceWith(twin);
    }
    document.body.dataset.version = fresh.body.dataset.version || "";
    const said = fresh.querySelector("[data-say]");
    if (said && by("say").textContent !== said.dataset.say) by("say").textContent = said.dataset.say;
  }
  function follow() {
    const at = document.body.dataset.live;
    if (!at || stream || document.hidden) return;
    stream = new EventSource(at + "&version=" + encodeURIComponent(document.body.dataset.version || ""));
    stream.onmessage = (event) => { if (event.data !== document.body.dataset.version) renew(); };
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && stream) {
      stream.close();
      stream = null;
    }
    follow();
  });
  addEventListener("pagehide", () => { if (stream) stream.close(); stream = null; });
  follow();

  // On a phone the menu starts closed.
  if (matchMedia("(max-width: 59.99rem)").matches && by("menu")) by("menu").open = false;
})();
