// The shortest script that does what `text` does.
const reply = await fetch(`${process.env.BENCH_URL}/v1beta/models/bench-model:generateContent`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-vendor-a-api-key': 'bench-key' },
  body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: process.argv[2] }] }] }),
});
console.log((await reply.json()).candidates[0].content.parts[0].text);
