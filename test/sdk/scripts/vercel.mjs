import { writeFileSync } from 'node:fs';
import { anthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { generateText, streamText } from 'ai';

// This client alone reads no base URL from the environment.
const google = createGoogleGenerativeAI({ baseURL: `${process.env.GOOGLE_GEMINI_BASE_URL}/v1beta` });

const reply = await generateText({ model: anthropic('claude-sonnet-5-5'), prompt: 'Why is the sky blue?' });
process.stdout.write(`text: ${reply.text}\n`);

process.stdout.write('stream: ');
const claude = streamText({ model: anthropic('claude-sonnet-5-5'), prompt: 'Tell me a story' });
for await (const text of claude.textStream) process.stdout.write(text);

process.stdout.write('\nstream: ');
const gemini = streamText({ model: google('gemini-2.5-flash'), prompt: 'Tell me a story' });
for await (const text of gemini.textStream) process.stdout.write(text);

const drawn = await generateText({ model: google('gemini-2.5-flash-image'), prompt: 'A lighthouse at dusk' });
const [picture] = drawn.files;
writeFileSync('picture.png', picture.uint8Array);
process.stdout.write(`\npicture: ${picture.mediaType}\n`);
