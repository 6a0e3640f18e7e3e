import { writeFileSync } from 'node:fs';
import { GoogleGenAI } from '@google/genai';

const ai = new GoogleGenAI({});

const reply = await ai.models.generateContent({ model: 'gemini-2.5-flash', contents: 'Why is the sky blue?' });
process.stdout.write(`text: ${reply.text}\n`);

process.stdout.write('stream: ');
const stream = await ai.models.generateContentStream({ model: 'gemini-2.5-pro', contents: 'Tell me a story' });
for await (const chunk of stream) process.stdout.write(chunk.text ?? '');

const drawn = await ai.models.generateContent({ model: 'gemini-2.5-flash-image', contents: 'A lighthouse at dusk' });
for (const { inlineData } of drawn.candidates[0].content.parts) {
  if (inlineData) writeFileSync('picture.png', Buffer.from(inlineData.data, 'base64'));
}

const models = [];
for await (const { name } of await ai.models.list()) models.push(name);
process.stdout.write(`\nmodels: ${models.join(' ')}\n`);
