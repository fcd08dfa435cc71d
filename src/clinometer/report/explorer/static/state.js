// What is shown lies in the address (#group=nurse&context=…): a link leads back to it.
export class ViewState {
  constructor() {
    this.watchers = [];
    this.read();
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) === this.text()) return;
      this.read();
      this.tell();
    });
  }

  read() {
    this.values = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  }

  text() {
    return new URLSearchParams(Object.entries(this.values).filter(([, v]) => v !== "")).toString();
  }

  get(name, otherwise = "") {
    return this.values[name] ?? otherwise;
  }

  /** Change some values. Another group or sentence is a step back leads away from; typing is not. */
  set(changes) {
    const before = this.text();
    Object.assign(this.values, changes);
    for (const [name, value] of Object.entries(this.values))
      if (value === "" || value === null || value === undefined) delete this.values[name];
    const now = this.text();
    if (now === before) return;
    const step = "group" in changes || "context" in changes || "list" in changes;
    history[step ? "pushState" : "replaceState"](null, "", `#${now}`);
    this.tell();
  }

  watch(watcher) {
    this.watchers.push(watcher);
  }

  tell() {
    for (const watcher of this.watchers) watcher(this);
  }
}
