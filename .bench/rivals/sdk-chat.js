// What people write with the messages SDK: each delta goes to stdout as it comes.
import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: process.env.BENCH_URL, apiKey: 'bench-key', maxRetries: 0 });
const events = await client.messages.create({
  model: 'bench-model',
  max_tokens: 4096,
  stream: true,
  messages: [{ role: 'user', content: process.argv[2] }],
});
for await (const event of events) {
  if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') process.stdout.write(event.delta.text);
}
