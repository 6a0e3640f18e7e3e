// What people write with the content SDK for many prompts: 32 at once, one line of output a job.
import { appendFileSync, readFileSync } from 'node:fs';
import { GoogleGenAI } from '@google/genai';

const [jobs, output] = process.argv.slice(2);
const client = new GoogleGenAI({ apiKey: 'bench-key', httpOptions: { baseUrl: process.env.BENCH_URL } });
const waiting = readFileSync(jobs, 'utf8').trim().split('\n').values();

async function work() {
  for (const line of waiting) {
    const { id, prompt } = JSON.parse(line);
    const reply = await client.models.generateContent({ model: 'bench-model', contents: prompt });
    appendFileSync(output, `${JSON.stringify({ id, text: reply.text })}\n`);
  }
}

await Promise.all(Array.from({ length: 32 }, work));
