// What the server is asked. Answers that did not change are not parsed again.

const known = new Map();

async function json(path) {
  const before = known.get(path);
  const answer = await fetch(path, { headers: before ? { "If-None-Match": before.mark } : {}, cache: "no-store" });
  if (answer.status === 304) return before.value;
  if (!answer.ok) throw new Error(await answer.text());
  const value = await answer.json();
  known.set(path, { mark: answer.headers.get("ETag"), value });
  return value;
}

const post = (path, body) =>
  fetch(path, { method: "POST", headers: { "Content-Type": "application/json", "X-Pyburn": "1" }, body: JSON.stringify(body) });

export const runs = () => json("/api/runs");
export const run = (id) => json(`/api/run?id=${encodeURIComponent(id)}`);
export const image = (id, name) => `/api/image?id=${encodeURIComponent(id)}&name=${encodeURIComponent(name)}`;
export const timeline = (id, kind, tag) => json(`/api/timeline?${new URLSearchParams({ id, kind, tag })}`);
export const blob = (id, kind, tag, index, step) => `/api/blob?${new URLSearchParams({ id, kind, tag, index, step })}`;
export const stop = (id) => post("/api/stop", { id });

async function edited(path, body) {
  const answer = await post(path, body);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
export const annotate = (id, changes) => edited("/api/annotate", { id, ...changes });
export const remove = (id, key) => edited("/api/delete", { id, key });

// Curves as pairs of arrays x and y, in the order asked for.
export async function curves(request) {
  const answer = await post("/api/curves", request);
  if (!answer.ok) throw new Error(await answer.text());
  const bytes = await answer.arrayBuffer();
  const end = new Uint8Array(bytes).indexOf(10);
  const counts = JSON.parse(new TextDecoder().decode(bytes.slice(0, end)));
  let offset = end + 1;
  return counts.map((count) => {
    const x = new Float64Array(bytes, offset, count), y = new Float64Array(bytes, offset + 8 * count, count);
    offset += 16 * count;
    return { x, y };
  });
}
