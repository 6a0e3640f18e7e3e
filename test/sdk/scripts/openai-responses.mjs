import OpenAI from 'openai';

const client = new OpenAI();
const model = 'gpt-6-luna';
const city = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const reply = await client.responses.create({ model, instructions: 'Be brief.', input: 'Why is the sky blue?' });
process.stdout.write(`text: ${reply.output_text}\n`);

process.stdout.write('stream: ');
const reasoning = { effort: 'low', summary: 'auto' };
const stream = client.responses.stream({ model, input: 'Tell me a story', reasoning });
stream.on('response.output_text.delta', ({ delta }) => process.stdout.write(delta));
const { output, output_text: streamed, usage } = await stream.finalResponse();
const [{ summary }] = output;
process.stdout.write(`\nthoughts: ${summary[0].text}\n`);
process.stdout.write(`whole: ${streamed.length} ${usage.output_tokens_details.reasoning_tokens}\n`);

const tools = [{ type: 'function', name: 'get_weather', description: 'Weather', parameters: city, strict: true }];
const question = { role: 'user', content: 'The weather in Oslo?' };
const called = await client.responses.create({ model, input: [question], tools, store: false });
const [call] = called.output;
process.stdout.write(`call: ${call.name} ${call.arguments}\n`);
const result = { type: 'function_call_output', call_id: call.call_id, output: 'rain' };
const answered = await client.responses.create({ model, input: [question, call, result], tools, store: false });
process.stdout.write(`answered: ${answered.output_text}\n`);

const format = { type: 'json_schema', name: 'city', schema: city, strict: true };
const parsed = await client.responses.parse({ model, input: 'Name a city', text: { format } });
process.stdout.write(`city: ${parsed.output_parsed.city}\n`);

const later = await client.responses.create({ model, input: 'Take your time', background: true });
let ready = later;
while (ready.status === 'queued' || ready.status === 'in_progress') ready = await client.responses.retrieve(later.id);
process.stdout.write(`background: ${later.status} ${ready.status} ${ready.output_text.length > 0}\n`);

const next = await client.responses.create({ model, input: 'And then?', previous_response_id: ready.id });
const { input_tokens: counted } = await client.responses.inputTokens.count({ model, input: 'And then?' });
await client.responses.delete(next.id);
const { status: gone } = await client.responses.retrieve(next.id).catch((error) => error);
process.stdout.write(`kept: ${next.output_text.includes('Take your time')}, counted: ${counted}, gone: ${gone}\n`);

const { status, param } = await client.responses.create({ model, messages: [question] }).catch((error) => error);
process.stdout.write(`refused: ${status} ${param}\n`);
