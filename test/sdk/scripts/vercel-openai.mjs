import { writeFileSync } from 'node:fs';
import { openai } from '@ai-sdk/openai';
import { generateImage, generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai';

const model = process.argv[2] === 'responses' ? openai('gpt-6-luna') : openai.chat('gpt-4o');

const reply = await generateText({ model, prompt: 'Why is the sky blue?' });
process.stdout.write(`text: ${reply.text}\n`);

process.stdout.write('stream: ');
for await (const text of streamText({ model, prompt: 'Tell me a story' }).textStream) process.stdout.write(text);

const city = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tools = { get_weather: tool({ inputSchema: jsonSchema(city) }) };
const { toolCalls } = await generateText({ model, tools, toolChoice: 'required', prompt: 'The weather in Oslo?' });
process.stdout.write(`\ncall: ${JSON.stringify(toolCalls[0].input)}\n`);

const running = { get_weather: tool({ inputSchema: jsonSchema(city), execute: () => 'rain' }) };
const looped = { model, tools: running, stopWhen: stepCountIs(5), prompt: 'Get the weather in Oslo' };
const { steps, text: told } = await generateText(looped);
process.stdout.write(`loop: ${steps.length} ${told}\n`);

const { output } = await generateText({
  model,
  output: Output.object({ schema: jsonSchema(city) }),
  prompt: 'Name a city',
});
process.stdout.write(`city: ${output.city}\n`);

const { image } = await generateImage({
  model: openai.image('gpt-image-2.6-flare'),
  prompt: 'A lighthouse at dusk',
  size: '1024x1024',
});
writeFileSync('picture.png', image.uint8Array);
process.stdout.write(`picture: ${image.mediaType}\n`);
