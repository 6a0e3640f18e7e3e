import { ChatOpenAI } from '@langchain/openai';

const model = new ChatOpenAI({ model: 'gpt-4o', useResponsesApi: process.argv[2] === 'responses' });

const reply = await model.invoke('Why is the sky blue?');
process.stdout.write(`text: ${reply.text}\n`);

process.stdout.write('stream: ');
for await (const chunk of await model.stream('Tell me a story')) process.stdout.write(chunk.text);

const city = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const get_weather = { type: 'function', function: { name: 'get_weather', description: 'Weather', parameters: city } };
const { tool_calls: calls } = await model.bindTools([get_weather]).invoke('The weather in Oslo?');
process.stdout.write(`\ncall: ${calls[0].name} ${JSON.stringify(calls[0].args)}\n`);

const structured = await model.withStructuredOutput({ title: 'city', ...city }).invoke('Name a city');
process.stdout.write(`city: ${structured.city}\n`);
