import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic();
const question = (content) => ({
  model: 'claude-sonnet-5-5',
  max_tokens: 1024,
  messages: [{ role: 'user', content }],
});

const message = await client.messages.create(question('Why is the sky blue?'));
process.stdout.write(`text: ${message.content[0].text}\n`);

process.stdout.write('stream: ');
const stream = client.messages.stream(question('Tell me a story'));
stream.on('text', (text) => process.stdout.write(text));
await stream.finalMessage();

const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const seen = await client.messages.create(
  question([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: dot } },
    { type: 'text', text: 'What is it?' },
  ]),
);
process.stdout.write(`\nimage: ${seen.content[0].text}\n`);

const models = [];
for await (const { id } of client.models.list()) models.push(id);
process.stdout.write(`models: ${models.join(' ')}\n`);
