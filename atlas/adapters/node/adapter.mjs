// Reads commands as JSON lines from standard input, lets a client library carry them out, and writes events as JSON
// lines to standard output. docs/atlas.md describes both.
import { readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

const WAIT_MS_MAX = 15_000;
const LATE_MS = 200;
const BEGIN_MS_MAX = 1000;

/** The error of a command that the library has no method for. */
export class Unsupported extends Error {}

class Unanswered extends Error {
  constructor() {
    super("the call has not returned");
  }
}

class Missing extends Error {
  constructor() {
    super("it was not created");
  }
}

/** The settings of a client. A setting that nothing has read is ignored, and the event `done` says so. */
class Settings {
  #given;
  #used = new Set();

  constructor(given = {}) {
    this.#given = given;
  }

  /** Returns a setting, or undefined. */
  get(name) {
    this.#used.add(name);
    return this.#given[name] ?? undefined;
  }

  /** Returns those settings that are there, under the library's names. */
  named(names) {
    const found = Object.entries(names).map(([name, own]) => [own, this.get(name)]);
    return Object.fromEntries(found.filter(([, value]) => value !== undefined));
  }

  get ignored() {
    const names = Object.keys(this.#given);
    return names.filter((name) => this.#given[name] !== null && !this.#used.has(name)).sort();
  }
}

/** Writes one event. */
export function emit(event, fields) {
  const line = `${JSON.stringify({ ...fields, event, at_ms: performance.now() })}\n`;
  let bytes = Buffer.from(line);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(1, bytes));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

/** Returns what a promise resolves to, unless it takes too long. */
export async function within(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Unanswered()), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the version of an installed package. */
export function versionOf(name) {
  let folder = dirname(createRequire(import.meta.url).resolve(name));
  for (; ; folder = dirname(folder)) {
    try {
      const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      if (about.name === name) return about.version;
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
}

/**
 * A library: its name, what it supports, `classify` (the library's own name of an error, and its class), and `create`
 * by the command that opens a producer, a consumer or an admin client. What is opened has a method for each command
 * that the library can carry out, and `close`.
 */
export class Adapter {
  #opened = new Map();
  #servers = [];
  #pending = new Set();

  constructor({ client, package: name, supports, classify, create }) {
    Object.assign(this, { client, version: versionOf(name), supports, classify, create });
  }

  /** Handles commands until `end` or the end of standard input. */
  async run() {
    console.log = console.info = console.debug = console.error;
    process.on("unhandledRejection", (error) => console.error("unhandled rejection", error));
    emit("ready", { client: this.client, version: this.version, supports: this.supports });
    for await (const line of createInterface({ input: process.stdin })) {
      const command = JSON.parse(line);
      if (command.command === "end") {
        emit("done", { n: command.n });
        break;
      }
      try {
        const ms = (command.timeout_ms ?? WAIT_MS_MAX) + LATE_MS;
        emit("done", { ...(await within(this.#carryOut(command), ms)), n: command.n });
      } catch (error) {
        if (error instanceof Unsupported) emit("unsupported", { n: command.n });
        else emit("failed", { ...this.#fields(error, this.#opened.get(command.producer)?.transaction), n: command.n });
      }
    }
    process.exit(0); // connections of clients may be left
  }

  /** Reports the outcome of a command `send`; `offset` is a promise. */
  report(n, offset, transaction) {
    const pending = this.#pending;
    const reported = Promise.resolve(offset).then(
      (at) => emit("delivered", { send: n, offset: Number(at ?? -1) }),
      (error) => emit("undelivered", { ...this.#fields(error, transaction), send: n }),
    );
    pending.add(reported);
    reported.finally(() => pending.delete(reported));
  }

  /**
   * Returns a function that calls `send` when the call before has ended, as users do who wait for each. Who sets
   * `max_in_flight` gets calls beside each other, whose records these libraries may store in another order.
   */
  static inOrder(settings) {
    if (settings.get("max_in_flight") > 1) return (send) => send();
    let last = Promise.resolve();
    return (send) => {
      const sent = last.then(send);
      last = sent.catch(() => {});
      return sent;
    };
  }

  async #carryOut(command) {
    const { command: name, id } = command;
    switch (name) {
      case "begin":
        this.#servers = command.bootstrap.split(",");
        await this.#forget();
        return {};
      case "sleep":
        await new Promise((done) => setTimeout(done, command.ms));
        return {};
      case "flush": // neither library has one; this waits for the outcome of what was sent
        if (!this.#opened.has(command.producer)) throw new Missing();
        await Promise.all(this.#pending);
        return {};
      case "close": {
        const start = performance.now();
        const left = this.#opened.get(id);
        this.#opened.delete(id);
        await left?.close(command.timeout_ms);
        return { took_ms: performance.now() - start };
      }
    }
    if (this.create[name] !== undefined) {
      const settings = new Settings(command.settings);
      this.#opened.set(id, await this.create[name](this.#servers, settings, command));
      return { ignored: settings.ignored };
    }
    if (name === "commit_transaction" || name === "abort_transaction") await Promise.all(this.#pending);
    const opened = this.#opened.get(command.producer ?? command.consumer ?? command.admin);
    const other = this.#opened.get(command.consumer);
    if (opened === undefined) {
      if (name === undefined || !("producer" in command || "consumer" in command || "admin" in command)) {
        throw new Unsupported();
      }
      throw new Missing();
    }
    if (typeof opened[name] !== "function") throw new Unsupported();
    return (await opened[name](command, other)) ?? {};
  }

  async #forget() {
    const left = [...this.#opened.values()].map((opened) => opened.close(BEGIN_MS_MAX));
    this.#opened.clear();
    this.#pending = new Set();
    await within(Promise.allSettled(left), BEGIN_MS_MAX).catch(() => {}); // what does not close is forgotten
  }

  // Whether an error in a transaction leaves more than to abort it, neither library says.
  #fields(error, transaction) {
    if (error instanceof Unanswered) return { error: "unanswered", class: "unknown", message: error.message };
    if (error instanceof Missing) return { error: "missing", class: "unknown", message: error.message };
    const found = this.classify(error);
    if (transaction !== undefined && found.class === "fatal") found.class = "unknown";
    return { ...found, message: String(error.message) };
  }
}
