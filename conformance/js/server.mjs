// The real binary as a process, for tests: `startServer()` resolves to { endpoint, advance, stop }.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TARGET = process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, "../../target");
const BINARY = process.env.CONFORMANCE_BIN ?? join(TARGET, "release/posthouse");

export async function startServer() {
  const home = mkdtempSync(join(tmpdir(), "posthouse-js-"));
  const server = spawn(BINARY, ["serve", "--listen", "127.0.0.1:0", "--data", join(home, "data"), "--test-clock"]);
  let log = "";
  const endpoint = await new Promise((resolve, reject) => {
    const read = (chunk) => {
      log += chunk;
      const found = log.match(/listening on (http:\/\/[^\s\x1b]+)/);
      if (found) resolve(found[1]);
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("error", reject);
    server.on("exit", () => reject(new Error(`the server did not start:\n${log}`)));
  });

  const advance = async (seconds) => {
    const answer = await fetch(`${endpoint}/_posthouse/clock/advance`, {
      method: "POST",
      body: JSON.stringify({ seconds }),
    });
    if (!answer.ok) throw new Error(`the clock did not move: ${answer.status}`);
  };
  const stop = async () => {
    const ended = new Promise((resolve) => server.on("exit", resolve));
    server.kill("SIGTERM");
    const code = await ended;
    rmSync(home, { recursive: true });
    return code;
  };
  return { endpoint, advance, stop };
}
