import { Agent, run, tool } from '@openai/agents';

const about = { name: 'Assistant', instructions: 'Be brief.', model: 'gpt-6-luna' };
const agent = new Agent(about);

const { finalOutput } = await run(agent, 'Why is the sky blue?');
process.stdout.write(`text: ${finalOutput}\n`);

process.stdout.write('stream: ');
const streamed = await run(agent, 'Tell me a story', { stream: true });
for await (const text of streamed.toTextStream()) process.stdout.write(text);
await streamed.completed;

const asked = [];
const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  execute: (input) => {
    asked.push(input);
    return 'rain';
  },
});
const looped = new Agent({ ...about, tools: [weather] });
const whole = await run(looped, 'Get the weather in Oslo');
process.stdout.write(`\ncall: ${JSON.stringify(asked)}\nloop: ${whole.rawResponses.length} ${whole.finalOutput}\n`);

const again = await run(looped, 'Get the weather in Oslo', { stream: true });
await again.completed;
process.stdout.write(`streamed loop: ${again.rawResponses.length} ${again.finalOutput}\n`);
