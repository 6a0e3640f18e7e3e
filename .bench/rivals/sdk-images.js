// What people write with the content SDK: every picture of the reply into a folder.
import { writeFileSync } from 'node:fs';
import { GoogleGenAI } from '@google/genai';

const [prompt, folder] = process.argv.slice(2);
const client = new GoogleGenAI({ apiKey: 'bench-key', httpOptions: { baseUrl: process.env.BENCH_URL } });
const reply = await client.models.generateContent({ model: 'bench-model', contents: prompt });
const parts = (reply.candidates ?? []).flatMap((candidate) => candidate.content?.parts ?? []);
for (const [index, part] of parts.entries()) {
  if (part.inlineData) writeFileSync(`${folder}/image-${index + 1}.png`, Buffer.from(part.inlineData.data, 'base64'));
}
